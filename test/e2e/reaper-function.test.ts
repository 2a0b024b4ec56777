import type { Context, ScheduledEvent } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type BusEvent, type EventBus, startEventBus } from '../../lib/local/event-bus.ts';
import type { WatchResult } from '../../lib/reaper/watch.ts';
import { newJob } from '../support/jobs.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

type Handler = (event: ScheduledEvent, context: Context) => Promise<WatchResult>;

const withTimeLeft = (ms: number) => ({ getRemainingTimeInMillis: () => ms }) as Context;

describe('the reaper function', () => {
  let stack: WorkerStack;
  let bus: EventBus;
  let events: BusEvent[];

  beforeEach(async () => {
    events = [];
    stack = await startWorkerStack({ eventsEnabled: true });
    bus = await startEventBus((event) => events.push(event));
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
    await Promise.all([bus.stop(), stack.close()]);
  });

  /** The function as Lambda loads it: everything comes from the environment. */
  async function load(over: Readonly<Record<string, string>> = {}) {
    const environment = { ...stack.environment, AWS_ENDPOINT_URL_EVENTBRIDGE: bus.endpoint, ...over };
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'INFO');
    vi.resetModules();
    const lines: Record<string, unknown>[] = [];
    for (const level of ['log', 'info', 'warn', 'error'] as const)
      vi.spyOn(console, level).mockImplementation((line) => void lines.push(JSON.parse(String(line))));
    const { handler } = (await import('../../functions/reaper/index.ts')) as { handler: Handler };
    return { lines, invoke: (ms = 100_000) => handler({} as ScheduledEvent, withTimeLeft(ms)) };
  }

  it('watches a dead worker’s lease, gives the job on, and goes home when it is done', async () => {
    const { store, queue } = stack.direct;
    const job = newJob('a', { leaseMs: stack.settings.leaseMs });
    await store.claim({ job, owner: 'worker/dead' });
    const { lines, invoke } = await load();
    const invocation = invoke();
    await stack.until('a', (each) => each?.status === 'pending');
    const [hint] = await queue.receive({ max: 1, waitSeconds: 10 });
    expect(hint?.body).toBe('{"hint":"a"}');
    const outcome = await store.claim({ job: { jobId: 'a' }, owner: 'worker/next' });
    if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
    await store.complete({ jobId: 'a', owner: 'worker/next', attempt: 2, startedAt: 0 });
    expect(await invocation).toMatchObject({ reclaimed: 1, ended: 'idle' });

    expect(lines).toContainEqual(
      expect.objectContaining({ message: 'released stale running jobs', count: 1, service: 'test' }),
    );
    expect(lines).toContainEqual(
      expect.objectContaining({
        service: 'test',
        JobsReclaimed: 1,
        ReclaimDelay: expect.any(Number),
        HintsSent: 1,
      }),
    );
    expect(events.map(({ name, detail }) => ('change' in detail ? detail.change : name))).toEqual([
      'acquired',
      'JobReclaimed',
      'released',
    ]);
    expect(events[1]?.detail).toMatchObject({ service: 'test', jobId: 'a', attempt: 1, crashes: 1 });
  });

  it('costs one look when the system is idle', async () => {
    const { invoke } = await load({ AWS_ENDPOINT_URL_DYNAMODB: stack.dynamodb.endpoint });
    expect(await invoke()).toMatchObject({ sweeps: 1, ended: 'idle' });
    expect(stack.dynamodb.counts).toEqual({ GetItem: 1, UpdateItem: 2, Query: 16 });
    expect(events).toEqual([]);
  });

  it('leaves in time when the invocation has little left', async () => {
    await stack.direct.store.claim({ job: newJob('a', { leaseMs: 600_000 }), owner: 'worker/alive' });
    const { invoke } = await load();
    expect(await invoke(10_500)).toMatchObject({ ended: 'deadline' });
  });
});
