import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import type { JobQueue, JobStore } from '../../../lib/protocol/ports.ts';
import { createTestStack, type TestStack } from '../../../lib/testing/test-stack.ts';
import { jobBody } from '../../../lib/wire/message.ts';
import { defineJob } from '../../../lib/worker/define-job.ts';
import { startWorkerProcess } from '../../../lib/worker/hosts/process-host.ts';
import { createRegistry } from '../../../lib/worker/registry.ts';

const POLL_MS = 20;
const WRITE_MS = 10;

/** A worker process on a queue and a store that take their time, and what it asked of them. */
async function stage(options: {
  readonly concurrency: number;
  readonly jobs: number;
  readonly run: (stack: TestStack, n: number) => Promise<void>;
}) {
  const stack = createTestStack({ settings: { processConcurrency: options.concurrency } });
  const { clock } = stack;
  const seen = {
    polls: 0,
    mostPolls: 0,
    asked: [] as number[],
    claims: [] as number[],
    completions: [] as number[],
    deletions: [] as number[],
    beats: [] as number[],
    returned: 0,
    held: 0,
    mostHeld: 0,
    runs: 0,
    /** Whether polls fail. */
    isDown: false,
  };
  const worker = stack.worker(
    createRegistry([
      defineJob({
        type: 'job',
        payload: z.number(),
        async run({ payload }) {
          seen.runs += 1;
          await options.run(stack, payload);
          seen.held -= 1;
        },
      }),
    ]),
  );
  const slow = async <T>(act: () => Promise<T>): Promise<T> => {
    await clock.sleep(WRITE_MS);
    return act();
  };
  const store: JobStore = {
    ...worker.store,
    claim: (request) => {
      seen.claims.push(1);
      seen.held += 1;
      seen.mostHeld = Math.max(seen.mostHeld, seen.held);
      return slow(() => worker.store.claim(request));
    },
    claimMany: (requests) => {
      seen.claims.push(requests.length);
      seen.held += requests.length;
      seen.mostHeld = Math.max(seen.mostHeld, seen.held);
      return slow(() => worker.store.claimMany(requests));
    },
    complete: (...given) => {
      seen.completions.push(1);
      return slow(() => worker.store.complete(...given));
    },
    completeMany: (ends) => {
      seen.completions.push(ends.length);
      return slow(() => worker.store.completeMany(ends));
    },
  };
  const queue: JobQueue = {
    ...stack.queue,
    async receive(request) {
      seen.asked.push(request.max);
      seen.polls += 1;
      seen.mostPolls = Math.max(seen.mostPolls, seen.polls);
      await clock.sleep(POLL_MS);
      if (seen.isDown) {
        seen.polls -= 1;
        throw new Error('the queue is down');
      }
      const messages = await stack.queue.receive({ ...request, waitSeconds: 0 });
      if (messages.length === 0) await clock.sleep(request.waitSeconds * 1000 - POLL_MS);
      seen.polls -= 1;
      return messages;
    },
    async delete(messages) {
      seen.deletions.push(messages.length);
      await stack.queue.delete(messages);
    },
    async changeVisibility(messages, seconds) {
      seen.returned += messages.length;
      await stack.queue.changeVisibility(messages, seconds);
    },
  };
  await stack.queue.sendJobs(
    Array.from({ length: options.jobs }, (_, n) => ({ body: jobBody('job', n, { jobId: `job-${n}` }) })),
  );
  startWorkerProcess({ parts: { ...worker, store, queue }, signals: false });
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 1) await clock.advance(1);
  };
  return { stack, seen, pass };
}

describe('the intake of a process', () => {
  it('pauses once when the queue fails, however many polls were under way', async () => {
    const { seen, pass } = await stage({
      concurrency: 100,
      jobs: 5000,
      run: (stack) => stack.clock.sleep(50),
    });
    await pass(300);
    expect(seen.polls).toBeGreaterThan(4);
    seen.isDown = true;
    await pass(100);
    expect(seen.polls).toBe(0);
    seen.isDown = false;
    const before = seen.runs;
    await pass(700);
    expect(seen.runs).toBeGreaterThan(before);
  });

  it('needs at most 0.30 requests for each of a crowd of short jobs, poll to deletion', async () => {
    const jobs = 2000;
    const { seen, pass } = await stage({ concurrency: 100, jobs, run: async () => {} });
    while (seen.runs < jobs) await pass(1);
    // Those that find the queue empty belong to waiting, not to the jobs.
    const polls = seen.asked.length - seen.polls;
    await pass(200);
    const writes = [seen.claims, seen.completions, seen.deletions].reduce(
      (sum, { length }) => sum + length,
      0,
    );
    expect((polls + writes) / jobs).toBeLessThanOrEqual(0.3);
  });

  it('takes messages ahead of short jobs, and never claims one that has no slot', async () => {
    const { seen, pass } = await stage({ concurrency: 10, jobs: 400, run: async () => {} });
    // A claim takes 10 ms, and a poll before it 20: one after the other they would take twice as long.
    await pass(600);
    expect(seen.runs).toBe(400);
    expect(seen.mostHeld).toBeLessThanOrEqual(10);
  });

  it('takes nothing ahead of long jobs', async () => {
    const long = ({ clock }: TestStack) => clock.sleep(60_000);
    const { seen, pass } = await stage({ concurrency: 10, jobs: 100, run: long });
    await pass(3000);
    expect(seen.runs).toBe(10);
    expect(seen.asked).toEqual([10]);
  });

  it('returns within a second what it took ahead of jobs that turned out to be long', async () => {
    const { seen, pass } = await stage({
      ...{ concurrency: 10, jobs: 400 },
      run: async ({ clock }, n) => {
        if (n >= 200) await clock.sleep(60_000);
      },
    });
    await pass(2500);
    expect(seen.runs).toBe(210);
    expect(seen.returned).toBeGreaterThan(0);
    expect(seen.returned).toBeLessThanOrEqual(30);
    expect(seen.mostHeld).toBeLessThanOrEqual(10);
    expect(seen.polls).toBe(0);
  });
});
