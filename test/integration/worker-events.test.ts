import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createClient } from '../../lib/client/index.ts';
import { NonRetryableError } from '../../lib/index.ts';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import { type BusEvent, startEventBus } from '../../lib/tools/dev/event-bus.ts';
import { eventSchemas } from '../../lib/wire/event-schemas.ts';
import { defineJob } from '../../lib/worker/define-job.ts';
import { startWorkerProcess, type WorkerProcess } from '../../lib/worker/hosts/process-host.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { anyEngine, local } from '../support/engines.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

const silent = defineJob({ type: 'silent', payload: z.unknown(), run: () => 1 });
const told = defineJob({
  type: 'told',
  payload: z.object({ fails: z.optional(z.enum(['once', 'for good'])) }),
  run({ payload, attempt }) {
    if (payload.fails === 'for good') throw new NonRetryableError('no');
    if (payload.fails === 'once' && attempt === 1) throw new Error('not yet');
    return { n: 1 };
  },
});
const endless = defineJob({
  type: 'endless',
  payload: z.unknown(),
  run: (_job, { signal }) =>
    new Promise<undefined>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
});

describe('what workers publish', () => {
  const { AWS_ENDPOINT_URL_EVENTBRIDGE: before } = process.env;
  let stack: WorkerStack;
  let bus: Awaited<ReturnType<typeof startEventBus>>;
  let wire: FaultProxy;
  let host: WorkerProcess | undefined;
  let events: BusEvent[];

  beforeEach(async () => {
    events = [];
    bus = await startEventBus((event) => events.push(event));
    wire = await startFaultProxy({ target: bus.endpoint });
    process.env.AWS_ENDPOINT_URL_EVENTBRIDGE = wire.endpoint;
  });
  afterEach(async () => {
    await host?.stop({ graceMs: 0 });
    host = undefined;
    await stack.close();
    await wire.stop();
    await bus.stop();
    if (before === undefined) delete process.env.AWS_ENDPOINT_URL_EVENTBRIDGE;
    else process.env.AWS_ENDPOINT_URL_EVENTBRIDGE = before;
  });

  const start = async (settings: Readonly<Record<string, unknown>> = {}) => {
    stack = await startWorkerStack({ eventsEnabled: true, processConcurrency: 1, ...settings });
    const parts = stack.worker(createRegistry([silent, told, endless]));
    host = startWorkerProcess({ parts, signals: false });
  };
  const ended = (jobId: string) =>
    stack.until(jobId, (job) => job?.status !== 'running' && job?.status !== 'pending');
  const clientOf = () =>
    createClient({
      table: stack.tableName,
      dynamodb: { ...local, endpoint: anyEngine().endpoint },
      sqs: local,
      eventbridge: { ...local, endpoint: wire.endpoint },
      events: { bus: 'default', service: 'test' },
    });
  const named = (jobId: string) =>
    events.flatMap(({ name, detail }) => ('jobId' in detail && detail.jobId === jobId ? [name] : []));

  it('is nothing for jobs of types that nobody chose, however they are sent', async () => {
    await start();
    for (const jobId of ['a', 'b', 'c']) await stack.send('silent', null, { jobId });
    for (const jobId of ['a', 'b', 'c']) await ended(jobId);
    await host?.stop();
    expect(events).toEqual([]);
    expect(wire.counts).toEqual({});
  });

  it('is the start and the end of chosen types, each with what its schema says', async () => {
    await start({ startedEvents: 'told,endless', doneEvents: 'told' });
    await stack.send('told', {}, { jobId: 'good' });
    await stack.send('told', { fails: 'once' }, { jobId: 'second-try' });
    await stack.send('told', { fails: 'for good' }, { jobId: 'bad' });
    await stack.send('silent', null, { jobId: 'silent' });
    for (const jobId of ['good', 'second-try', 'bad', 'silent']) await ended(jobId);
    const client = clientOf();
    await stack.send('endless', null, { jobId: 'running' });
    await stack.until('running', (job) => job?.status === 'running');
    await client.cancel('running');
    await ended('running');
    await host?.stop();
    // No worker sees the end of a job that waits.
    await stack.direct.store.schedule(
      { jobId: 'waiting', type: 'told', payload: '{}', leaseMs: 5000, maxAttempts: 5, maxCrashes: 3 },
      planDispatch(Date.now(), Date.now() + 3_600_000, stack.settings),
    );
    await client.cancel('waiting');
    client.close();
    expect(named('good')).toEqual(['JobStarted', 'JobDone']);
    expect(named('second-try')).toEqual(['JobStarted', 'JobRetried', 'JobStarted', 'JobDone']);
    expect(named('bad')).toEqual(['JobStarted', 'JobFailed']);
    expect(named('silent')).toEqual([]);
    expect(named('running')).toEqual(['JobStarted', 'JobCancelled']);
    expect(named('waiting')).toEqual(['JobCancelled']);
    for (const { name, detail } of events) {
      const schema = z.fromJSONSchema(eventSchemas[name] as never);
      expect(schema.safeParse(detail).error, name).toBeUndefined();
      const unknown = Object.keys(detail).filter((field) => !(field in eventSchemas[name].properties));
      expect(unknown, name).toEqual([]);
      for (const field of eventSchemas[name].required)
        expect(schema.safeParse({ ...detail, [field]: undefined }).success, `${name}.${field}`).toBe(false);
    }
  });
});
