import { describe, expect, it } from 'vitest';
import type { RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import {
  cancelPendingWrite,
  cancelRunningWrite,
  checkpointWrite,
  claimWrite,
  completeWrite,
  failWrite,
  firstTermsWrite,
  heartbeatInBatchWrite,
  heartbeatWrite,
  releaseUnknownWrite,
  releaseWrite,
  restartWrite,
  retryWrite,
  scheduleWrite,
  tidyWrite,
} from '../../../lib/protocol/writes/worker-writes.ts';
import { defined } from '../../../lib/wire/defined.ts';
import { newJob } from '../../support/jobs.ts';

const now = 200_000;
const at = { changedBy: 'w/c9', now, shards: 8 };
const claim = { jobId: 'a', owner: 'w/1', attempt: 3, startedAt: 150_000 };
const dispatch = { notBefore: 201_000, leaseUntil: 261_000, dispatches: 1, hintDelaySeconds: 1 };
const pending = {
  status: 'pending',
  leaseShard: 'q4',
  notBefore: 201_000,
  leaseUntil: 261_000,
  dispatches: 1,
};
const finished = { finishedAt: now, expiresAt: 999 };
const first = {
  type: 'report',
  payload: '{"n":1}',
  leaseMs: 30_000,
  maxAttempts: 5,
  maxCrashes: 3,
  createdAt: now,
  errors: 0,
  crashes: 0,
  releases: 0,
  checkpointSeq: 0,
  cancelRequested: false,
};
const ended = (outcome: string, cause?: string) => ({
  claim03: defined({ attempt: 3, owner: 'w/1', from: 150_000, to: now, outcome, cause }),
});

const isRunning = { attribute: 'status', is: 'equal', value: 'running' } as const;
const isPending = { attribute: 'status', is: 'equal', value: 'pending' } as const;
const isAbsent = { attribute: 'jobId', is: 'absent' } as const;
const isOwned = { attribute: 'leaseOwner', is: 'equal', value: 'w/1' } as const;
const isThird = { attribute: 'attempt', is: 'equal', value: 3 } as const;
const isMine = [isRunning, isOwned, isThird];
const toBeCancelled = { attribute: 'cancelRequested', is: 'equal', value: true } as const;
const isClaimable = [
  isPending,
  { attribute: 'notBefore', is: 'atMost', value: 202_000 },
  { attribute: 'cancelRequested', is: 'differs', value: true },
  { attribute: 'leaseOwner', is: 'differs', value: 'w/1' },
  { attribute: 'format', is: 'absentOrAtMost', value: 2 },
  { attribute: 'defaultTerms', is: 'absent' },
] as const;

const granted = {
  transition: 'claim',
  jobId: 'a',
  set: {
    status: 'running',
    leaseOwner: 'w/1',
    leaseShard: 'r4',
    startedAt: now,
    heartbeatAt: now,
    format: 2,
    changedBy: 'w/c9',
  },
  remove: ['notBefore', 'dispatches'],
  returns: 'row',
} as const;

const byMessage = () => claimWrite({ job: newJob('a'), owner: 'w/1', skewMs: 2_000 }, at);
const byHint = () => claimWrite({ job: { jobId: 'a' }, owner: 'w/1', skewMs: 2_000 }, at);
const hasDefaultTerms = [
  ...isClaimable.slice(0, -1),
  { attribute: 'defaultTerms', is: 'present' } as const,
  isThird,
];
/** Where a text is that has no room in the row. */
const moved = { in: 'c3-7', parts: 1, bytes: 9000, until: 1_000_000 };

/** The protocol as a worker writes it, word for word: what is listed here is all that changes, and when. */
const writes: readonly (readonly [string, () => RowWrite, RowWrite])[] = [
  [
    'a claim by a message',
    () => claimWrite({ job: newJob('a'), owner: 'w/1', skewMs: 2_000 }, at),
    {
      ...granted,
      when: [[isAbsent], isClaimable],
      keep: first,
      sum: {
        attempt: { of: 'attempt', otherwise: 0, plus: 1 },
        leaseUntil: { of: 'leaseMs', otherwise: 30_000, plus: now },
      },
    },
  ],
  [
    'a claim by a hint',
    () => claimWrite({ job: { jobId: 'a' }, owner: 'w/1', skewMs: 2_000 }, at),
    {
      ...granted,
      when: [isClaimable],
      keep: {},
      sum: {
        attempt: { of: 'attempt', otherwise: 0, plus: 1 },
        leaseUntil: { of: 'leaseMs', otherwise: 0, plus: now },
      },
    },
  ],
  [
    'a claim by a message with a trace',
    () =>
      claimWrite({ job: newJob('a', { trace: { traceparent: '00-1' } }), owner: 'w/1', skewMs: 2_000 }, at),
    {
      ...granted,
      when: [[isAbsent], isClaimable],
      keep: { ...first, traceparent: '00-1' },
      sum: {
        attempt: { of: 'attempt', otherwise: 0, plus: 1 },
        leaseUntil: { of: 'leaseMs', otherwise: 30_000, plus: now },
      },
    },
  ],
  [
    'the first claim that knows the type, and how long its leases are',
    () => firstTermsWrite(byMessage(), { attempt: 3, terms: { leaseMs: 40_000, maxCrashes: 1 } }, at),
    {
      ...granted,
      when: [hasDefaultTerms],
      set: { ...granted.set, leaseMs: 40_000, maxCrashes: 1, leaseUntil: 240_000 },
      keep: {},
      sum: { attempt: { of: 'attempt', otherwise: 0, plus: 1 } },
      remove: ['notBefore', 'dispatches', 'defaultTerms'],
    },
  ],
  [
    'the first claim that knows the type, which has leases as usual',
    () => firstTermsWrite(byHint(), { attempt: 3, terms: {} }, at),
    {
      ...granted,
      when: [hasDefaultTerms],
      keep: {},
      sum: {
        attempt: { of: 'attempt', otherwise: 0, plus: 1 },
        leaseUntil: { of: 'leaseMs', otherwise: 0, plus: now },
      },
      remove: ['notBefore', 'dispatches', 'defaultTerms'],
    },
  ],
  [
    'a schedule',
    () => scheduleWrite(newJob('a'), dispatch, at),
    {
      transition: 'schedule',
      jobId: 'a',
      when: [[isAbsent]],
      set: { ...first, ...pending, attempt: 0, format: 2, changedBy: 'w/c9' },
      returns: 'row',
    },
  ],
  [
    'a heartbeat',
    () => heartbeatWrite(claim, 230_000, at),
    {
      transition: 'heartbeat',
      jobId: 'a',
      when: [[...isMine, { attribute: 'leaseUntil', is: 'below', value: 230_000 }]],
      set: { leaseUntil: 230_000, heartbeatAt: now, changedBy: 'w/c9' },
      keep: { cancelRequested: false },
      returns: 'changed',
    },
  ],
  [
    'a heartbeat among others',
    () => heartbeatInBatchWrite(claim, 230_000, at),
    {
      transition: 'heartbeat',
      jobId: 'a',
      when: [
        [
          ...isMine,
          { attribute: 'leaseUntil', is: 'below', value: 230_000 },
          { attribute: 'cancelRequested', is: 'equal', value: false },
        ],
      ],
      set: { leaseUntil: 230_000, heartbeatAt: now, changedBy: 'w/c9' },
      keep: {},
      returns: 'nothing',
    },
  ],
  [
    'a restart',
    () =>
      restartWrite(
        claim,
        {
          ...{ owner: 'w/2', leaseMs: 30_000, crashes: 1, releases: 2 },
          ...{ lastError: 'exit code 1', diedAt: 199_000 },
        },
        at,
      ),
    {
      transition: 'restart',
      jobId: 'a',
      when: [[...isMine, { attribute: 'cancelRequested', is: 'differs', value: true }]],
      set: {
        ...{ attempt: 4, leaseOwner: 'w/2', leaseUntil: 230_000, startedAt: now, heartbeatAt: now },
        ...{ crashes: 1, releases: 2, lastError: 'exit code 1', changedBy: 'w/c9' },
        claim03: { ...ended('crashed', 'exit code 1').claim03, to: 199_000 },
      },
      returns: 'row',
    },
  ],
  [
    'the move of a text out of the row',
    () => tidyWrite(claim, { texts: { checkpoint: moved }, remove: ['claim01'], checkpointSeq: 7 }, at),
    {
      transition: 'tidy',
      jobId: 'a',
      when: [[...isMine, { attribute: 'checkpointSeq', is: 'equal', value: 7 }]],
      set: { checkpoint: { ...moved }, changedBy: 'w/c9' },
      remove: ['claim01'],
      returns: 'nothing',
    },
  ],
  [
    'a checkpoint with progress',
    () => checkpointWrite(claim, { seq: 7, checkpoint: '[1]', progress: '0.5' }, at),
    {
      transition: 'checkpoint',
      jobId: 'a',
      when: [[...isMine, { attribute: 'checkpointSeq', is: 'below', value: 7 }]],
      set: { checkpointSeq: 7, checkpoint: '[1]', progress: '0.5', changedBy: 'w/c9' },
      returns: 'nothing',
    },
  ],
  [
    'a checkpoint of neither',
    () => checkpointWrite(claim, { seq: 7 }, at),
    {
      transition: 'checkpoint',
      jobId: 'a',
      when: [[...isMine, { attribute: 'checkpointSeq', is: 'below', value: 7 }]],
      set: { checkpointSeq: 7, changedBy: 'w/c9' },
      returns: 'nothing',
    },
  ],
  [
    'a completion with a result',
    () => completeWrite(claim, { result: '42', expiresAt: 999 }, at),
    {
      transition: 'complete',
      jobId: 'a',
      when: [isMine],
      set: { status: 'done', result: '42', ...finished, ...ended('done'), changedBy: 'w/c9' },
      remove: ['leaseUntil'],
      returns: 'nothing',
    },
  ],
  [
    'a completion without a result',
    () => completeWrite(claim, { expiresAt: 999 }, at),
    {
      transition: 'complete',
      jobId: 'a',
      when: [isMine],
      set: { status: 'done', ...finished, ...ended('done'), changedBy: 'w/c9' },
      remove: ['leaseUntil'],
      returns: 'nothing',
    },
  ],
  [
    'a retry',
    () => retryWrite(claim, { errors: 2, lastError: 'boom', dispatch }, at),
    {
      transition: 'retry',
      jobId: 'a',
      when: [isMine],
      set: { ...pending, errors: 2, lastError: 'boom', ...ended('retried', 'boom'), changedBy: 'w/c9' },
      remove: ['excuses'],
      returns: 'nothing',
    },
  ],
  [
    'a failing',
    () => failWrite(claim, { errors: 5, lastError: 'boom', expiresAt: 999 }, at),
    {
      transition: 'fail',
      jobId: 'a',
      when: [isMine],
      set: {
        status: 'failed',
        errors: 5,
        lastError: 'boom',
        leaseShard: 'f4',
        leaseUntil: now,
        ...finished,
        ...ended('failed', 'boom'),
        changedBy: 'w/c9',
      },
      returns: 'nothing',
    },
  ],
  [
    'a failing that counts a crash, with a long error kept beside the row',
    () => failWrite(claim, { errors: 5, crashes: 3, releases: 1, lastError: moved, expiresAt: 999 }, at),
    {
      transition: 'fail',
      jobId: 'a',
      when: [isMine],
      set: {
        ...{ status: 'failed', errors: 5, crashes: 3, releases: 1, lastError: { ...moved } },
        ...{ leaseShard: 'f4', leaseUntil: now, ...finished, ...ended('failed', ''), changedBy: 'w/c9' },
      },
      returns: 'nothing',
    },
  ],
  [
    'a release that is charged',
    () => releaseWrite(claim, { errors: 1, releases: 4, lastError: 'no progress', dispatch }, at),
    {
      transition: 'release',
      jobId: 'a',
      when: [isMine],
      set: {
        ...pending,
        errors: 1,
        releases: 4,
        lastError: 'no progress',
        ...ended('released', 'no progress'),
        changedBy: 'w/c9',
      },
      remove: ['excuses'],
      returns: 'nothing',
    },
  ],
  [
    'a release that is free',
    () => releaseWrite(claim, { errors: 0, releases: 5, dispatch }, at),
    {
      transition: 'release',
      jobId: 'a',
      when: [isMine],
      set: { ...pending, errors: 0, releases: 5, ...ended('released'), changedBy: 'w/c9' },
      remove: ['excuses'],
      returns: 'nothing',
    },
  ],
  [
    'a hand-back of a claim whose reply never came',
    () => releaseUnknownWrite('a', 'w/1', dispatch, at),
    {
      transition: 'releaseUnknown',
      jobId: 'a',
      when: [[isRunning, isOwned]],
      set: { ...pending, changedBy: 'w/c9' },
      sum: { releases: { of: 'releases', otherwise: 0, plus: 1 } },
      returns: 'nothing',
    },
  ],
  [
    'the end of a running job that was to be cancelled',
    () => cancelRunningWrite(claim, 999, at),
    {
      transition: 'cancelRunning',
      jobId: 'a',
      when: [[...isMine, toBeCancelled]],
      set: { status: 'cancelled', ...finished, ...ended('cancelled'), changedBy: 'w/c9' },
      remove: ['leaseUntil'],
      returns: 'nothing',
    },
  ],
  [
    'the end of a pending job that was to be cancelled',
    () => cancelPendingWrite({ jobId: 'a', attempt: 3 }, 999, at),
    {
      transition: 'cancelPending',
      jobId: 'a',
      when: [[isPending, isThird, toBeCancelled]],
      set: { status: 'cancelled', ...finished, changedBy: 'w/c9' },
      remove: ['leaseUntil'],
      returns: 'nothing',
    },
  ],
];

describe('what a worker writes', () => {
  // Strictly: an attribute that is present and undefined is not the same as none, DynamoDB refuses it.
  it.each(writes)('in %s', (_, write, expected) => {
    expect(write()).toStrictEqual(expected);
  });
});
