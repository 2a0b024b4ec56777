import type { ReapVerdict } from '../decisions/decide-reap.ts';
import type { LeaseEntry } from '../job.ts';
import { cancelIsRequested, lapsesAre, leaseIsAsObserved } from './clauses.ts';
import type { RowWrite } from './row-write.ts';
import {
  cancelledAttributes,
  claimEnded,
  failedAttributes,
  finishedAttributes,
  pendingAttributes,
  WAITING,
  type WriteContext,
} from './worker-writes.ts';

export type ReapAction = Exclude<ReapVerdict, { kind: 'leave' }>;

/** Counters are absolute values, so a repeat cannot count a lapse twice. */
export function reapWrite(entry: LeaseEntry, action: ReapAction, at: WriteContext): RowWrite {
  const { changedBy, now, shards } = at;
  const isAsObserved = leaseIsAsObserved(entry);
  const observed = { jobId: entry.jobId, when: [isAsObserved], returns: 'nothing' } as const;
  const lapsesAreAsObserved = [[...isAsObserved, lapsesAre(entry.lapses)]];
  switch (action.kind) {
    case 'reclaim':
      return {
        ...observed,
        transition: 'reclaim',
        when: lapsesAreAsObserved,
        set: {
          ...pendingAttributes(entry.jobId, action.dispatch, shards),
          lapses: action.lapses,
          lastError: action.lastError,
          ...lapsedClaim(entry, now),
          changedBy,
        },
      };
    case 'quarantine':
      return {
        ...observed,
        transition: 'quarantine',
        when: lapsesAreAsObserved,
        set: {
          status: 'failed',
          lapses: action.lapses,
          lastError: action.lastError,
          ...failedAttributes(entry.jobId, now, shards),
          ...finishedAttributes(at),
          ...lapsedClaim(entry, now),
          changedBy,
        },
      };
    case 'redispatch':
      return {
        ...observed,
        transition: 'redispatch',
        set: { ...pendingAttributes(entry.jobId, action.dispatch, shards), changedBy },
      };
    case 'cancel':
      return {
        ...observed,
        transition: 'finishCancel',
        when: [[...isAsObserved, cancelIsRequested]],
        set: {
          ...cancelledAttributes(at),
          ...(entry.status === 'running' ? lapsedClaim(entry, now) : undefined),
          changedBy,
        },
        // A batch can remove one attribute only.
        remove: entry.status === 'pending' && entry.waitsFor ? ['leaseUntil', ...WAITING] : ['leaseUntil'],
      };
  }
}

const lapsedClaim = (entry: LeaseEntry, now: number) =>
  claimEnded(
    {
      jobId: entry.jobId,
      owner: entry.leaseOwner ?? 'unknown',
      attempt: entry.attempt,
      startedAt: entry.startedAt ?? entry.leaseUntil - (entry.leaseMs ?? 0),
    },
    now,
    'lapsed',
  );
