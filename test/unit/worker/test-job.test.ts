import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { RetryAfter } from '../../../lib/protocol/errors.ts';
import { LEASE_EXPIRED } from '../../../lib/protocol/job.ts';
import { defaultSettings } from '../../../lib/settings/settings.ts';
import { testJob } from '../../../lib/testing/test-job.ts';
import { Cancelled } from '../../../lib/worker/abort-reasons.ts';
import { defineJob, type JobDefinition } from '../../../lib/worker/define-job.ts';

/** Counts to a number, one slice for each step, and goes on from its checkpoint. */
const count = defineJob({
  type: 'count',
  payload: z.object({ to: z.int() }),
  checkpoint: z.object({ at: z.int() }),
  async run({ payload, checkpoint, attempt }, { signal, save }) {
    let at = checkpoint?.at ?? 0;
    const from = at;
    while (at < payload.to) {
      signal.throwIfAborted();
      at += 1;
      await save({ at });
    }
    return { from, at, attempt };
  },
});

const failing = (error: Error, times = Number.POSITIVE_INFINITY) => {
  let left = times;
  return defineJob({
    type: 'failing',
    payload: z.unknown(),
    async run() {
      if (left-- > 0) throw error;
      return 'at last';
    },
  });
};

describe('the delay of a retry', () => {
  const delayAfter = async (definition: JobDefinition) => {
    const job = testJob(definition, null);
    expect(await job.run()).toBe('retried');
    const row = await job.row();
    return row?.status === 'pending' ? [row.errors, row.notBefore - job.stack.clock.now()] : row;
  };
  const HOURS = 3_600_000;

  it.each([
    ['the handler by RetryAfter', failing(new RetryAfter(90_000)), 90_000],
    ['RetryAfter, at most a day', failing(new RetryAfter(50 * HOURS)), 24 * HOURS],
    [
      'the type’s function',
      { ...failing(new Error('no')), backoff: (errors: number) => errors * 7_000 },
      7_000,
    ],
    ['RetryAfter before the function', { ...failing(new RetryAfter(1)), backoff: () => 7_000 }, 1],
  ])('is chosen by %s, and the error is charged', async (_who, definition, delay) => {
    expect(await delayAfter(definition)).toEqual([1, delay]);
  });

  it.each([
    () => Number.NaN,
    () => -1,
    () => 'soon' as never,
    () => {
      throw new Error('no idea');
    },
  ])('is the settings’ where the function gives none: %s', async (backoff) => {
    const [errors, delay] = (await delayAfter({ ...failing(new Error('no')), backoff })) as number[];
    expect(errors).toBe(1);
    expect(delay).toBeLessThanOrEqual(defaultSettings.backoffBaseMs);
  });
});

describe('a job under test', () => {
  it('resumes from its checkpoint after its worker died, and the crash is charged', async () => {
    const job = testJob(count, { to: 5 });
    expect(await job.run({ fault: 'hostDies', after: 2 })).toBe('crashed');
    expect(await job.row()).toMatchObject({ status: 'running', checkpoint: { at: 2 } });
    expect(await job.run()).toBe('done');
    expect(await job.row()).toMatchObject({
      status: 'done',
      attempt: 2,
      crashes: 0,
      releases: 1,
      errors: 0,
      lastError: LEASE_EXPIRED,
      result: { from: 2, at: 5, attempt: 2 },
    });
  });

  it('resumes from its checkpoint at once after its cell died: its host still has the lease', async () => {
    const job = testJob(count, { to: 5 });
    const before = job.stack.clock.now();
    expect(await job.run({ fault: 'cellDies', after: 2 })).toBe('done');
    expect(await job.row()).toMatchObject({
      status: 'done',
      attempt: 2,
      lastError: 'crashed: killed by the test',
      result: { from: 2, at: 5, attempt: 2 },
    });
    expect(job.stack.clock.now()).toBe(before);
    expect(job.stack.telemetry.total('JobsRestarted')).toBe(1);
  });

  it('is released for nothing when its process shuts down', async () => {
    const job = testJob(count, { to: 10 });
    await job.run({ fault: 'shutdown' });
    expect(await job.row()).toMatchObject({ status: 'pending', errors: 0, crashes: 0, releases: 1 });
    expect(await job.finish()).toMatchObject({ status: 'done', attempt: 2 });
  });

  it('ends at its next heartbeat after an operator cancels it', async () => {
    const seen: unknown[] = [];
    const watching = defineJob({
      ...count,
      async run(view, context) {
        context.signal.addEventListener('abort', () => seen.push(context.signal.reason));
        return count.run(view, context) as Promise<{ at: number }>;
      },
    });
    const job = testJob(watching, { to: 10 });
    expect(await job.run({ fault: 'cancel', after: 4 })).toBe('cancelled');
    expect(seen).toEqual([expect.any(Cancelled)]);
    expect(await job.row()).toMatchObject({ status: 'cancelled', checkpoint: { at: 4 } });
  });

  it('stops when its lease is lost, and its next run does the work', async () => {
    const job = testJob(count, { to: 5 });
    expect(await job.run({ fault: 'loseLease', after: 2 })).toBe('lost');
    expect(job.stack.telemetry.total('LeasesLost')).toBe(1);
    expect(job.stack.telemetry.total('WritesFenced')).toBe(1);
    expect(await job.finish()).toMatchObject({ status: 'done', attempt: 2, result: { from: 2 } });
  });

  it('is retried after errors with its clock moved on, and keeps the last one', async () => {
    const job = testJob(failing(new TypeError('no such thing'), 2), null);
    expect(await job.run()).toBe('retried');
    const row = await job.row();
    expect(row?.lastError).toMatch(/^TypeError: no such thing\n\s+at /);
    expect(await job.finish()).toMatchObject({ status: 'done', attempt: 3, errors: 2, result: 'at last' });
    expect(job.stack.events.map(({ name }) => name)).toEqual(['JobRetried', 'JobRetried']);
  });

  it('reports why its message was rejected', async () => {
    const job = testJob(count, { to: 5 }, { send: { maxAttempts: 26 } });
    await expect(job.finish()).rejects.toThrow(/'maxAttempts' is 26/);
  });
});
