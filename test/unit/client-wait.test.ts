import { expect, it } from 'vitest';
import { WaitTimedOutError } from '../../lib/client/errors.ts';
import { waitForEnd, watchJob } from '../../lib/client/wait-for.ts';
import { claimOf } from '../../lib/protocol/job.ts';
import { createTestStack } from '../../lib/testing/test-stack.ts';
import { newJob } from '../support/jobs.ts';

/** A wait whose looks are counted, on a clock that is moved by hand. */
function createWait() {
  const { clock, store } = createTestStack();
  const looks: number[] = [];
  const parts = {
    clock,
    found: { tableName: 'jobs' },
    // No queue is named, so it is not asked.
    sqs: undefined as never,
    queueAge: async () => 0,
    store: {
      ...store,
      read: (jobId: string) => {
        looks.push(clock.monotonic());
        return store.read(jobId);
      },
    },
  };
  const asleep = () => expect.poll(() => clock.sleepers).toBe(1);
  return { clock, store, looks, parts, asleep };
}

it('a wait looks often at first and then every 5 s, and no more often than it says', async () => {
  const { clock, looks, parts, asleep } = createWait();
  const ended = waitForEnd(parts, 'a', { timeoutMs: 60_000 }).catch((error: unknown) => error);
  await asleep();
  await clock.advance(60_000);
  expect(await ended).toBeInstanceOf(WaitTimedOutError);
  expect(looks.slice(0, 9)).toEqual([0, 100, 300, 700, 1500, 3100, 6300, 11_300, 16_300]);
  expect(looks.at(-1)).toBe(60_000);
  expect(looks.length).toBeLessThanOrEqual(7 + 60 / 5);
});

it('watching a job yields it when its status or progress has changed, and ends with it, for as many looks as a wait', async () => {
  const { clock, store, looks, parts, asleep } = createWait();
  const seen: unknown[] = [];
  const watching = (async () => {
    for await (const { status, progress, result } of watchJob(parts, 'a'))
      seen.push([status, progress, result]);
  })();
  await asleep();
  const claimed = await store.claim({ job: newJob('a'), owner: 'worker/1' });
  if (claimed.outcome !== 'claimed') throw new Error(claimed.outcome);
  const claim = claimOf(claimed.job);
  await clock.advance(1_000);
  await store.checkpoint(claim, { seq: 1, progress: { percent: 50 } });
  await clock.advance(30_000);
  expect(seen).toEqual([
    ['running', undefined, undefined],
    ['running', { percent: 50 }, undefined],
  ]);
  await store.complete(claim, 'yes', { percent: 100 });
  await clock.advance(5_000);
  await watching;
  expect(seen.at(-1)).toEqual(['done', { percent: 100 }, 'yes']);
  expect(looks.length).toBeLessThanOrEqual(7 + 36 / 5);
});
