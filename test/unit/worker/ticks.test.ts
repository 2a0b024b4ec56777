import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { createTestStack } from '../../../lib/testing/test-stack.ts';
import { defineJob } from '../../../lib/worker/define-job.ts';
import { createDeadLetterHandler } from '../../../lib/worker/hosts/dead-letter-host.ts';
import { createEngine } from '../../../lib/worker/intake/engine.ts';
import { createRegistry } from '../../../lib/worker/registry.ts';
import { deliver } from '../../support/claims.ts';

const DAY = 86_400_000;

function stage(settings: Readonly<Record<string, unknown>> = {}) {
  const stack = createTestStack({ settings });
  let runs = 0;
  const run = () => {
    runs += 1;
    return runs;
  };
  const report = defineJob({ type: 'report', payload: z.unknown(), run });
  const worker = stack.worker(createRegistry([report]));
  const engine = createEngine(worker);
  const at = stack.clock.now();
  const tickAt = (ms: number, more: object = {}) =>
    JSON.stringify({ type: 'report', schedule: 'nightly', scheduledAt: new Date(ms).toISOString(), ...more });
  const given = (...bodies: readonly string[]) => deliver(stack, engine, ...bodies);
  return { stack, deliver: given, tickAt, at, runs: () => runs, worker };
}

const idOf = (ms: number) => `nightly.${new Date(ms).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;

describe('a tick of a schedule', () => {
  it('makes one job under an id of its schedule and time, however often it is delivered', async () => {
    const { stack, deliver, tickAt, at, runs } = stage();
    await deliver(tickAt(at), tickAt(at), tickAt(at));
    await stack.clock.advance(3_600_000);
    await deliver(tickAt(at));
    // The same instant, written in another way.
    await deliver(tickAt(at, { scheduledAt: new Date(at).toISOString().replace('Z', '+00:00') }));
    expect(runs()).toBe(1);
    expect(await stack.store.read(idOf(at))).toMatchObject({ status: 'done', attempt: 1, type: 'report' });
    await deliver(tickAt(at + 60_000));
    expect(runs()).toBe(2);
  });

  it('makes a job up to its limit and none after it, also by way of the dead-letter queue', async () => {
    const { stack, deliver, tickAt, at, runs, worker } = stage();
    await deliver(tickAt(at - 600_000, { lateAfterMs: 600_000 }));
    await deliver(tickAt(at - 600_001, { lateAfterMs: 600_000 }));
    await deliver(tickAt(at - DAY - 1));
    expect(runs()).toBe(1);
    const telemetry = { ...stack.telemetry, middleware: [], flush() {} } as never;
    const handler = createDeadLetterHandler({ ...worker, telemetry });
    const record = (body: string) => ({
      ...{ messageId: 'm', receiptHandle: 'm', body },
      attributes: { SentTimestamp: String(at), ApproximateReceiveCount: '11' },
    });
    const dead = { Records: [record(tickAt(at - 2 * DAY)), record(tickAt(at - 1000))] };
    expect(await handler(dead, {} as never)).toEqual({ batchItemFailures: [] });
    expect(stack.table.rows().map(({ jobId }) => jobId)).toEqual([idOf(at - 600_000), idOf(at - 1000)]);
    expect(stack.telemetry.total('TicksLate')).toBe(3);
  });

  it('is not dropped by a worker whose clock is not to be trusted: it goes back to the queue', async () => {
    const { stack, tickAt, at, worker } = stage();
    const engine = createEngine({ ...worker, clockCheck: { isSound: async () => false } });
    await stack.queue.sendJobs([{ body: tickAt(at - 2 * DAY) }]);
    const [message] = await stack.queue.receive({ max: 1, waitSeconds: 0 });
    if (message === undefined) throw new Error('no message');
    expect(await engine.open(message)).toMatchObject({ kind: 'returned' });
    expect(stack.telemetry.total('TicksLate')).toBe(0);
  });

  it('that comes before its time waits for it', async () => {
    const { stack, deliver, tickAt, at, runs } = stage();
    await deliver(tickAt(at + 60_000));
    expect(runs()).toBe(0);
    expect(await stack.store.read(idOf(at + 60_000))).toMatchObject({
      status: 'pending',
      notBefore: at + 60_000,
    });
  });

  it.each([
    [{ scheduledAt: '<aws.scheduler.scheduled-time>' }, /'scheduledAt' is '<aws.*EventBridge Scheduler/],
    [{ scheduledAt: undefined }, /'scheduledAt' is undefined/],
    [{ schedule: 'a b' }, /its 'schedule' is 'a b'; a tick names its schedule/],
    [{ schedule: undefined }, /has 'scheduledAt', and its 'schedule' is undefined/],
    [{ jobId: 'mine' }, /tick of a schedule has 'jobId'; its id and time follow/],
    [{ lateAfterMs: 0 }, /'lateAfterMs' is 0; it must be a whole number from 60000 to 86400000/],
  ])('with %j is rejected, and makes no job', async (more, reason) => {
    const { stack, deliver, tickAt, at, runs } = stage();
    await deliver(tickAt(at, more));
    expect(runs()).toBe(0);
    const [row] = stack.table.rows();
    expect(row).toMatchObject({ status: 'failed', lastError: expect.stringMatching(reason) });
    expect(String(row?.jobId)).toMatch(/^bad:/);
  });
});
