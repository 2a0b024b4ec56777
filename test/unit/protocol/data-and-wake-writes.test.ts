import { expect, it } from 'vitest';
import {
  hintDelaySecondsOf,
  planDispatch,
  planRedispatch,
  planTakeBack,
} from '../../../lib/protocol/decisions/dispatch.ts';
import { putDataWrite, replaceDataWrite } from '../../../lib/protocol/writes/data-writes.ts';
import { reapWrite } from '../../../lib/protocol/writes/reaper-writes.ts';
import type { RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { armWakeWrite, keepBreakerWrite, renewWakeWrite } from '../../../lib/protocol/writes/wake-writes.ts';
import { tidyWrite } from '../../../lib/protocol/writes/worker-writes.ts';
import { leaseEntry } from '../../support/jobs.ts';

const part = { key: 'a#p1', text: 'text', expiresAt: 9 };
const isAbsent = { attribute: 'jobId', is: 'absent' } as const;
const next = { wake: 'new', wakeAt: 500, gaugedAt: 400 };
const arm = (seen: string | undefined) => armWakeWrite(next, { seen, now: 300, shards: 8 });
const row = { jobId: 'leader:reaper', returns: 'nothing' } as const;

it.each<[string, () => RowWrite, RowWrite]>([
  [
    'data that is written once',
    () => putDataWrite(part),
    {
      ...{ transition: 'putData', jobId: 'a#p1', when: [[isAbsent]], returns: 'nothing' },
      set: { data: 'text', expiresAt: 9 },
    },
  ],
  [
    'data in one of two places',
    () => replaceDataWrite(part, 7),
    {
      ...{ transition: 'replaceData', jobId: 'a#p1', returns: 'nothing' },
      when: [[isAbsent], [{ attribute: 'seq', is: 'below', value: 7 }]],
      set: { data: 'text', expiresAt: 9, seq: 7 },
    },
  ],
  [
    'the first promise of a sweep',
    () => arm(undefined),
    {
      ...{ ...row, transition: 'armWake', when: [[{ attribute: 'wake', is: 'absent' }]] },
      ...{ set: { ...next, ledAt: 300 }, keep: { shards: 8 } },
    },
  ],
  [
    'the promise that replaces another',
    () => arm('old'),
    {
      ...{ ...row, transition: 'armWake', when: [[{ attribute: 'wake', is: 'equal', value: 'old' }]] },
      ...{ set: { ...next, ledAt: 300 }, keep: { shards: 8 } },
    },
  ],
  [
    'a promise that is put off',
    () => renewWakeWrite('new', 600),
    {
      ...{ ...row, transition: 'renewWake', set: { wakeAt: 600 } },
      when: [
        [
          { attribute: 'wake', is: 'equal', value: 'new' },
          { attribute: 'wakeAt', is: 'below', value: 600 },
        ],
      ],
    },
  ],
  [
    'a breaker that opens',
    () => keepBreakerWrite(true),
    {
      ...{ ...row, transition: 'keepBreaker', set: { breakerOpen: true } },
      when: [[{ attribute: 'breakerOpen', is: 'differs', value: true }]],
    },
  ],
])('%s is written so, and on this condition', (_, write, expected) => {
  expect(write()).toStrictEqual(expected);
});

it('data is moved only while no checkpoint has come, also where the row never had one', () => {
  const claim = { jobId: 'a', owner: 'w/1', attempt: 1, startedAt: 0 };
  const tidy = (checkpointSeq: number | undefined) =>
    tidyWrite(claim, { texts: {}, remove: [], checkpointSeq }, { changedBy: 'w', now: 0, shards: 1 }).when[0];
  expect(tidy(4)).toContainEqual({ attribute: 'checkpointSeq', is: 'equal', value: 4 });
  expect(tidy(undefined)).toContainEqual({ attribute: 'checkpointSeq', is: 'absent' });
});

it('a lapse that ends a job is told apart from a quarantine', () => {
  const action = { kind: 'fail', crashes: 1, releases: 0, lastError: 'x' } as const;
  const context = { changedBy: 'r', now: 0, shards: 1 };
  const name = (quarantined: boolean) =>
    reapWrite(leaseEntry({ jobId: 'a' }), { ...action, quarantined }, 1, context).transition;
  expect([name(true), name(false)]).toEqual(['quarantine', 'failLapsed']);
});

it('a hint is delayed by whole seconds, and never by less than nothing', () => {
  const delay = (notBefore: number) => hintDelaySecondsOf({ notBefore }, 10_000);
  expect([9000, 10_000, 10_001, 12_000].map(delay)).toEqual([0, 0, 1, 2]);
});

it('time that runs faster brings the jitter of ticks down with it', () => {
  const settings = { dispatchLeaseMs: 1000, dispatchLeaseCapMs: 9000, reaperIntervalMs: 6000, timeScale: 10 };
  const far = 901_000;
  expect(planDispatch(0, far, settings)).toMatchObject({ leaseUntil: far - 18_000, dispatches: 0 });
  const last = { notBefore: 900_000, dispatches: 0 };
  expect(planRedispatch(0, last, settings)).toMatchObject({ hintDelaySeconds: 900, dispatches: 1 });
  expect(planTakeBack(5000, 5000, { ...settings, skewMs: 2000 })).toMatchObject({ notBefore: 9001 });
});
