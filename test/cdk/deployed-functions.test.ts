import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FunctionName } from '../../lib/cdk/bundling.ts';
import { jobBody } from '../../lib/wire/message.ts';
import { metrics } from '../../lib/wire/metrics.ts';
import { type Deployed, deploy } from './deployed.ts';
import { withoutValidation } from './support.ts';

withoutValidation();

/** A bundle larger than this has swallowed something that it should not have. */
const LARGEST_BUNDLE = 480 * 1024;
const names = ['worker', 'reaper', 'dead-letter'] as const satisfies readonly FunctionName[];

let deployed: Deployed;
beforeAll(async () => {
  deployed = await deploy();
}, 120_000);
afterAll(() => deployed?.stop());

/** A claim of five minutes ago, whose worker was never heard of again. */
async function lapsedJob(jobId: string, maxAttempts = 5): Promise<void> {
  const job = {
    jobId,
    type: 'count-primes',
    payload: '{"below":10}',
    leaseMs: 30_000,
    maxAttempts,
    maxCrashes: 3,
  };
  const claimed = await deployed.storeAt(-300_000).claim({ job, owner: `gone/${jobId}` });
  expect(claimed.outcome).toBe('claimed');
}

const statusOf = async (jobId: string) => (await deployed.storeAt(0).read(jobId))?.status;

describe('each bundle', () => {
  it.each(names)(
    'of the %s is an ES module with its map, of moderate size; a worker has one for its cell',
    (name) => {
      const { codeDir } = deployed.functions[name];
      const ofCell = name === 'worker' ? ['cell.mjs', 'cell.mjs.map'] : [];
      expect(readdirSync(codeDir).sort()).toEqual([...ofCell, 'index.mjs', 'index.mjs.map']);
      expect(statSync(join(codeDir, 'index.mjs')).size).toBeLessThan(LARGEST_BUNDLE);
    },
  );
});

describe('the worker, from its bundle', () => {
  it('runs a job to its end', async () => {
    const { functions, queues, batch } = deployed;
    const event = await batch(queues.queue, [
      jobBody('count-primes', { below: 1_000_000 }, { jobId: 'primes' }),
    ]);
    const reply = await functions.worker.invoke(event);
    expect(reply).toEqual({ outcome: 'response', payload: { batchItemFailures: [] } });
    expect(await deployed.storeAt(0).read('primes')).toMatchObject({
      status: 'done',
      result: { primes: 78_498 },
    });
  });

  it('retries a job whose handler throws, with a hint and an event', async () => {
    const { functions, queues, batch, events } = deployed;
    const body = jobBody('call-service', { url: 'http://127.0.0.1:9', body: 1 }, { jobId: 'refused' });
    const reply = await functions.worker.invoke(await batch(queues.queue, [body]));
    expect(reply).toEqual({ outcome: 'response', payload: { batchItemFailures: [] } });
    expect(await deployed.storeAt(0).read('refused')).toMatchObject({ status: 'pending', errors: 1 });
    expect(events).toContainEqual(
      expect.objectContaining({
        name: 'JobRetried',
        detail: expect.objectContaining({ jobId: 'refused', service: 'Leasehold-Jobs' }),
      }),
    );
  });
});

describe('the reaper, from its bundle', () => {
  it('gives lapsed jobs to the next worker, and quarantines one that may not run again', async () => {
    const { functions, events } = deployed;
    const lapsed = Array.from({ length: 8 }, (_, i) => `lapsed-${i}`);
    for (const jobId of lapsed) await lapsedJob(jobId);
    await lapsedJob('poison', 1);
    const reply = await functions.reaper.invoke({});
    expect(reply).toMatchObject({
      outcome: 'response',
      payload: { sweeps: 1, reclaimed: 8, quarantined: 1 },
    });
    for (const jobId of lapsed) expect(await statusOf(jobId)).toBe('pending');
    expect(await statusOf('poison')).toBe('failed');
    expect(events.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['JobReclaimed', 'JobQuarantined']),
    );
  });
});

describe('the dead-letter consumer, from its bundle', () => {
  it('keeps a message that was never claimed as a pending job, and a bad one as a failed row', async () => {
    const { functions, queues, batch } = deployed;
    const event = await batch(queues.deadLetterQueue, [
      jobBody('count-primes', { below: 10 }, { jobId: 'unclaimed' }),
      'not JSON',
    ]);
    const reply = await functions['dead-letter'].invoke(event);
    expect(reply).toEqual({ outcome: 'response', payload: { batchItemFailures: [] } });
    expect(await statusOf('unclaimed')).toBe('pending');
    const bad = event.Records.find(({ body }) => body === 'not JSON');
    expect(await statusOf(`bad:${bad?.messageId}`)).toBe('failed');
  });

  it('leaves a job alone that has a row already', async () => {
    const { functions, queues, batch } = deployed;
    const event = await batch(queues.deadLetterQueue, [
      jobBody('count-primes', { below: 10 }, { jobId: 'primes' }),
    ]);
    await functions['dead-letter'].invoke(event);
    expect(await statusOf('primes')).toBe('done');
  });
});

describe('what the functions write', () => {
  it('is structured, with nothing said of errors in Leasehold itself', () => {
    const { lines } = deployed;
    expect(lines.filter(({ kind }) => kind === 'text')).toEqual([]);
    expect(lines.filter((line) => line.kind === 'log' && line.level === 'ERROR')).toEqual([]);
  });

  it('has the metrics of the contract, and no other', () => {
    const emitted = new Set(
      deployed.lines.flatMap((line) => (line.kind === 'metrics' ? Object.keys(line.values) : [])),
    );
    for (const name of emitted) expect(Object.keys(metrics)).toContain(name);
    for (const name of [
      'JobsDone',
      'JobsRetried',
      'JobsReclaimed',
      'JobsQuarantined',
      'ReclaimDelay',
      'SweepDuration',
    ])
      expect(emitted).toContain(name);
  });
});
