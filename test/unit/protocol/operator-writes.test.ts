import { describe, expect, it } from 'vitest';
import type { Job, RunningJob } from '../../../lib/protocol/job.ts';
import { parseJob } from '../../../lib/protocol/rows/parse-row.ts';
import {
  cancelWrite,
  rejectWrite,
  reviveWrite,
  takeBackWrite,
} from '../../../lib/protocol/writes/operator-writes.ts';
import { reapWrite } from '../../../lib/protocol/writes/reaper-writes.ts';
import type { RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { leaseEntry } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

const now = 200_000;
const at = { changedBy: 'me/c9', now, shards: 8 };
const dispatch = { notBefore: 201_000, leaseUntil: 261_000, dispatches: 1, hintDelaySeconds: 1 };
const pending = {
  status: 'pending',
  leaseShard: 'q4',
  notBefore: 201_000,
  leaseUntil: 261_000,
  dispatches: 1,
};
const finished = { finishedAt: now, expiresAt: 999 };
const jobIn = <S extends Job['status']>(status: S) =>
  parseJob(row({ jobId: 'a', status, attempt: 3, releases: 4 })) as Job & { readonly status: S };
const ended = (outcome: string, from: number, owner = 'w/1') => ({
  claim03: { attempt: 3, owner, from, to: now, outcome },
});

const statusIs = (value: string) => ({ attribute: 'status', is: 'equal', value }) as const;
const isThird = { attribute: 'attempt', is: 'equal', value: 3 } as const;
const nobodyActed = { attribute: 'acted', is: 'absent' } as const;
const acted = (act: string) => ({ acted: 1, act0: { act, by: 'me', at: now } });
const leaseIsSame = { attribute: 'leaseUntil', is: 'equal', value: 100_000 } as const;
const crashesAreSame = { attribute: 'crashes', is: 'equal', value: 0 } as const;
const endIsSame = { attribute: 'finishedAt', is: 'equal', value: 70_000 } as const;
const toBeCancelled = { attribute: 'cancelRequested', is: 'equal', value: true } as const;

const revived = {
  transition: 'revive',
  jobId: 'a',
  set: {
    ...{ ...pending, errors: 0, crashes: 0, releases: 0, cancelRequested: false },
    format: 2,
    ...acted('revive'),
    changedBy: 'me/c9',
  },
  remove: ['expiresAt', 'finishedAt', 'failedAt', 'result', 'excuses'],
  returns: 'row',
} as const;

/** As the operator writes: what is listed here is all that changes, and when. */
const operators: readonly (readonly [string, () => RowWrite, RowWrite])[] = [
  [
    'the cancellation of a pending job',
    () => cancelWrite(jobIn('pending'), 999, at),
    {
      transition: 'cancel',
      jobId: 'a',
      when: [[statusIs('pending'), isThird, nobodyActed, leaseIsSame]],
      set: { status: 'cancelled', ...finished, ...acted('cancel'), changedBy: 'me/c9' },
      remove: ['leaseUntil'],
      returns: 'row',
    },
  ],
  [
    'the cancellation of a running job',
    () => cancelWrite(jobIn('running'), 999, at),
    {
      transition: 'requestCancel',
      jobId: 'a',
      when: [[statusIs('running'), isThird, nobodyActed]],
      set: { cancelRequested: true, ...acted('cancel'), changedBy: 'me/c9' },
      returns: 'row',
    },
  ],
  [
    'the revival of a failed job',
    () => reviveWrite(jobIn('failed'), dispatch, at),
    { ...revived, when: [[statusIs('failed'), isThird, nobodyActed, endIsSame]] },
  ],
  [
    'the revival of a cancelled job',
    () => reviveWrite(jobIn('cancelled'), dispatch, at),
    { ...revived, when: [[statusIs('cancelled'), isThird, nobodyActed, endIsSame]] },
  ],
  [
    'a take-back',
    () => takeBackWrite(jobIn('running') as RunningJob, dispatch, at),
    {
      transition: 'takeBack',
      jobId: 'a',
      when: [[statusIs('running'), isThird, nobodyActed]],
      set: {
        ...{ ...pending, ...ended('takenBack', 60_000) },
        ...acted('takeBack'),
        changedBy: 'me/c9',
      },
      sum: { releases: { of: 'releases', otherwise: 0, plus: 1 } },
      returns: 'row',
    },
  ],
  [
    'the rejection of a message',
    () =>
      rejectWrite({ messageId: 'a', reason: 'no JSON', text: '{', bytes: 1, sha256: 'f00' }, 'a', 999, at),
    {
      transition: 'reject',
      jobId: 'bad:a',
      when: [[{ attribute: 'jobId', is: 'absent' }]],
      set: {
        status: 'failed',
        type: 'leasehold.bad-message',
        payload: 'null',
        messageId: 'a',
        rawText: '{',
        rawBytes: 1,
        rawSha256: 'f00',
        lastError: 'no JSON',
        leaseMs: 0,
        attempt: 0,
        errors: 0,
        crashes: 0,
        releases: 0,
        maxAttempts: 1,
        maxCrashes: 1,
        checkpointSeq: 0,
        cancelRequested: false,
        createdAt: now,
        format: 2,
        leaseShard: 'f4',
        leaseUntil: now,
        ...finished,
        changedBy: 'me/c9',
      },
      returns: 'nothing',
    },
  ],
];

const entry = leaseEntry({ jobId: 'a', attempt: 3 });
const queued = leaseEntry({ jobId: 'a', attempt: 3, status: 'pending' });
// What the index shows of a row whose attributes were edited away.
const { leaseOwner: _owner, startedAt: _start, ...nameless } = entry;
const charged = { crashes: 2, releases: 4, lastError: 'worker lease expired' };

/** As the reaper writes, each on the condition that the row is what the index showed. */
const reapers: readonly (readonly [string, () => RowWrite, RowWrite])[] = [
  [
    'a reclaim',
    () => reapWrite(entry, { kind: 'reclaim', chargedTo: 'crashes', ...charged, dispatch }, 999, at),
    {
      transition: 'reclaim',
      jobId: 'a',
      when: [[statusIs('running'), isThird, leaseIsSame, crashesAreSame]],
      set: { ...pending, ...charged, ...ended('lapsed', 70_000), changedBy: 'me/c9' },
      returns: 'nothing',
    },
  ],
  [
    'a reclaim of a row that names neither owner nor start',
    () => reapWrite(nameless, { kind: 'reclaim', chargedTo: 'crashes', ...charged, dispatch }, 999, at),
    {
      transition: 'reclaim',
      jobId: 'a',
      when: [[statusIs('running'), isThird, leaseIsSame, crashesAreSame]],
      set: { ...pending, ...charged, ...ended('lapsed', 70_000, 'unknown'), changedBy: 'me/c9' },
      returns: 'nothing',
    },
  ],
  [
    'a quarantine',
    () => reapWrite(entry, { kind: 'fail', quarantined: true, ...charged }, 999, at),
    {
      transition: 'quarantine',
      jobId: 'a',
      when: [[statusIs('running'), isThird, leaseIsSame, crashesAreSame]],
      set: {
        status: 'failed',
        ...charged,
        leaseShard: 'f4',
        leaseUntil: now,
        ...finished,
        ...ended('lapsed', 70_000),
        changedBy: 'me/c9',
      },
      returns: 'nothing',
    },
  ],
  [
    'a redispatch',
    () => reapWrite(queued, { kind: 'redispatch', dispatch }, 999, at),
    {
      transition: 'redispatch',
      jobId: 'a',
      when: [[statusIs('pending'), isThird, leaseIsSame]],
      set: { ...pending, changedBy: 'me/c9' },
      returns: 'nothing',
    },
  ],
  [
    'the end of a lapsed running job that was to be cancelled',
    () => reapWrite(entry, { kind: 'cancel' }, 999, at),
    {
      transition: 'cancelLapsed',
      jobId: 'a',
      when: [[statusIs('running'), isThird, leaseIsSame, toBeCancelled]],
      set: { status: 'cancelled', ...finished, ...ended('lapsed', 70_000), changedBy: 'me/c9' },
      remove: ['leaseUntil'],
      returns: 'nothing',
    },
  ],
  [
    'the end of a pending job that was to be cancelled, which ends no claim',
    () => reapWrite(queued, { kind: 'cancel' }, 999, at),
    {
      transition: 'cancelLapsed',
      jobId: 'a',
      when: [[statusIs('pending'), isThird, leaseIsSame, toBeCancelled]],
      set: { status: 'cancelled', ...finished, changedBy: 'me/c9' },
      remove: ['leaseUntil'],
      returns: 'nothing',
    },
  ],
];

describe('what an operator writes', () => {
  it.each(operators)('in %s', (_, write, expected) => {
    expect(write()).toStrictEqual(expected);
  });
});

describe('what the reaper writes', () => {
  it.each(reapers)('in %s', (_, write, expected) => {
    expect(write()).toStrictEqual(expected);
  });
});
