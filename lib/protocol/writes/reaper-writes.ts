import { defined } from '../../wire/defined.ts';
import type { ReapVerdict } from '../decisions/decide-reap.ts';
import type { LeaseEntry } from '../job.ts';
import { cancelIsRequested, crashesAre, leaseIsAsObserved } from './clauses.ts';
import type { Clause, RowWrite } from './row-write.ts';
import {
  claimEnded,
  failedAttributes,
  finishedAttributes,
  pendingAttributes,
  type WriteContext,
} from './worker-writes.ts';

/** The verdicts that need a write. */
export type ReapAction = Exclude<ReapVerdict, { kind: 'leave' }>;

/**
 * Carries a verdict out, provided that the row is still as the index showed it. Counters are absolute values: a reaper
 * that repeats itself cannot charge a crash twice.
 */
export function reapWrite(
  entry: LeaseEntry,
  action: ReapAction,
  expiresAt: number,
  { changedBy, now, shards }: WriteContext,
  /** How often the row says that the job was excused already. */
  excuses = 0,
): RowWrite {
  const observed = { jobId: entry.jobId, when: [leaseIsAsObserved(entry)], returns: 'nothing' } as const;
  const countsAreAsObserved = [...leaseIsAsObserved(entry), crashesAre(entry.crashes)];
  switch (action.kind) {
    case 'reclaim':
      return {
        ...observed,
        transition: 'reclaim',
        when: [
          action.otherwise === undefined
            ? countsAreAsObserved
            : [...countsAreAsObserved, wasExcused(excuses)],
        ],
        set: defined({
          ...pendingAttributes(entry.jobId, action.dispatch, shards),
          crashes: action.crashes,
          releases: action.releases,
          excuses: action.otherwise && excuses + 1,
          lastError: action.lastError,
          ...lapsedClaim(entry, now, action.excuse && `not charged: ${action.excuse}`),
          changedBy,
        }),
      };
    case 'fail':
      return {
        ...observed,
        transition: action.quarantined ? 'quarantine' : 'failLapsed',
        when: [countsAreAsObserved],
        set: {
          status: 'failed',
          crashes: action.crashes,
          releases: action.releases,
          lastError: action.lastError,
          ...failedAttributes(entry.jobId, now, shards),
          ...finishedAttributes(now, expiresAt),
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
        transition: 'cancelLapsed',
        when: [[...leaseIsAsObserved(entry), cancelIsRequested]],
        set: {
          status: 'cancelled',
          ...finishedAttributes(now, expiresAt),
          ...(entry.status === 'running' ? lapsedClaim(entry, now) : undefined),
          changedBy,
        },
        remove: ['leaseUntil'],
      };
  }
}

/** The index does not tell how often; a row that was never excused says nothing, which a batch statement can ask for. */
const wasExcused = (excuses: number): Clause =>
  excuses === 0
    ? { attribute: 'excuses', is: 'absent' }
    : { attribute: 'excuses', is: 'equal', value: excuses };

const lapsedClaim = (entry: LeaseEntry, now: number, cause?: string) =>
  claimEnded(
    {
      jobId: entry.jobId,
      owner: entry.leaseOwner ?? 'unknown',
      attempt: entry.attempt,
      startedAt: entry.startedAt ?? entry.leaseUntil - entry.leaseMs,
    },
    now,
    'lapsed',
    cause,
  );
