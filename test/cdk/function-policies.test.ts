import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Stack } from 'aws-cdk-lib';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { ContainerImage } from 'aws-cdk-lib/aws-ecs';
import type { SQSEvent } from 'aws-lambda';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { FunctionName } from '../../lib/cdk/bundling.ts';
import { fargate } from '../../lib/cdk/pools/compute.ts';
import { type Claim, claimOf } from '../../lib/protocol/job.ts';
import { parseGroup } from '../../lib/protocol/limits/group.ts';
import { hintBody, jobBody, type SendOptions } from '../../lib/wire/message.ts';
import { metrics } from '../../lib/wire/metrics.ts';
import { isDeep } from '../support/depth.ts';
import { type Deployed, deploy } from './deployed.ts';
import { type Breakage, loseFirstReplies } from './iam-gate.ts';
import { projectRoot, someEnv, withoutValidation } from './support.ts';

withoutValidation();

const names = ['worker', 'reaper', 'dead-letter'] as const satisfies readonly FunctionName[];
const BATCHED_UPDATE = 'dynamodb:PartiQLUpdate on Table';

let deployed: Deployed;
beforeAll(async () => {
  deployed = await deploy(
    `${projectRoot}/test/support/patient-jobs.ts`,
    (app) => ({
      pools: {
        own: { types: ['elsewhere'] },
        boxed: {
          types: ['in-a-box'],
          compute: fargate({
            image: ContainerImage.fromRegistry('worker'),
            max: 20,
            vpc: new Vpc(new Stack(app, 'Network', { env: someEnv }), 'Vpc'),
          }),
        },
      },
    }),
    {
      own: { types: ['elsewhere'] },
      boxed: { types: ['in-a-box'], tasks: { max: 20, concurrency: 10 } },
    },
  );
}, 120_000);
afterAll(() => deployed?.stop());

const breakBy = (breakage?: Breakage) => {
  for (const { gate } of Object.values(deployed.functions)) gate.breakBy(breakage);
};
afterEach(() => breakBy());

let ids = 0;
const newId = (): string => `job-${++ids}`;
const primes = (bytes: number) => ({ below: 10, unread: 'x'.repeat(bytes) });
const jobOf = (jobId: string, bytes: number) => ({
  ...{ jobId, type: 'count-primes', payload: JSON.stringify(primes(bytes)) },
  ...{ leaseMs: 30_000, maxAttempts: 5, maxCrashes: 3 },
});
const TURNS = { name: 'limit:take-turns', limit: 1 };
const turnOf = (jobId: string, maxAttempts = 5) => ({
  ...{ jobId, type: 'take-turns', payload: 'null', leaseMs: 30_000, maxAttempts, maxCrashes: 1 },
});
/** A job that has the only place, for as long as a test wants. */
async function takePlace(shiftMs: number, maxAttempts?: number): Promise<Claim> {
  const store = deployed.storeAt(shiftMs);
  const job = turnOf(newId(), maxAttempts);
  const outcome = await store.claim({ job, owner: `has/${job.jobId}`, group: TURNS.name });
  if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
  const { outcome: admission } = await store.admit(TURNS, outcome.job);
  expect(admission).toBe('admitted');
  return claimOf(outcome.job);
}
const statusOf = async (jobId: string) => (await deployed.storeAt(0).read(jobId))?.status;

const ALL_TAKEN = { outcome: 'response', payload: { batchItemFailures: [] } };

/** The same messages as SQS delivers them for the second time. */
const again = ({ Records }: SQSEvent): SQSEvent => ({
  Records: Records.map((record) => ({
    ...record,
    attributes: { ...record.attributes, ApproximateReceiveCount: '2' },
  })),
});

/** Answers each request as soon as `isTime`. */
async function patientService(isTime: () => boolean) {
  const server = createServer((_, response) => {
    const looking = setInterval(() => {
      if (!isTime()) return;
      clearInterval(looking);
      response.end();
    }, 20);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => server.close().closeAllConnections(),
  };
}

describe.each([
  {
    where: 'where every reply arrives',
    breakage: (): Breakage => () => undefined,
    concurrencies: [1, 10],
    // The largest has a row of its own.
    sizes: isDeep ? [0, 5_000, 30_000] : [0, 30_000],
  },
  // Once each: the SDK stops repeating requests when too many have failed.
  {
    where: 'where the first reply to each write is lost',
    breakage: loseFirstReplies,
    concurrencies: [1],
    sizes: [5_000],
  },
])('$where', ({ breakage, concurrencies, sizes }) => {
  beforeEach(() => breakBy(breakage()));

  describe.each(concurrencies)('a worker with batchConcurrency %i', (batchConcurrency) => {
    const invoke = (event: SQSEvent) =>
      (batchConcurrency === 1 ? deployed.functions.worker : deployed.wideWorker).invoke(event);
    const newIds = () => Array.from({ length: batchConcurrency }, newId);
    const batch = (bodies: readonly string[]) => deployed.batch(deployed.queues.queue, bodies);

    describe.each(isDeep || batchConcurrency === 1 ? sizes : sizes.slice(-1))(
      'and payloads of %i bytes',
      (bytes) => {
        const messages = (jobIds: readonly string[], options: SendOptions = {}) =>
          batch(jobIds.map((jobId) => jobBody('count-primes', primes(bytes), { jobId, ...options })));

        it('runs new jobs', async () => {
          const jobIds = newIds();
          expect(await invoke(await messages(jobIds))).toEqual(ALL_TAKEN);
          for (const jobId of jobIds) expect(await statusOf(jobId)).toBe('done');
        });

        it('runs jobs whose messages come for the second time', async () => {
          const jobIds = newIds();
          expect(await invoke(again(await messages(jobIds)))).toEqual(ALL_TAKEN);
          for (const jobId of jobIds) expect(await statusOf(jobId)).toBe('done');
        });

        it('keeps jobs for later, and recognizes them', async () => {
          const jobIds = newIds();
          const event = await messages(jobIds, { delayMs: 3_600_000 });
          expect(await invoke(event)).toEqual(ALL_TAKEN);
          expect(await invoke(again(event))).toEqual(ALL_TAKEN);
          for (const jobId of jobIds) expect(await statusOf(jobId)).toBe('pending');
        });

        it.each(['elsewhere', 'in-a-box'])('sends jobs on to the pool of %s', async (type) => {
          const jobIds = newIds();
          const event = await batch(jobIds.map((jobId) => jobBody(type, primes(bytes), { jobId })));
          expect(await invoke(event)).toEqual(ALL_TAKEN);
          for (const jobId of jobIds) expect(await statusOf(jobId)).toBe('pending');
        });

        it('lets jobs wait for their turn, and passes the place on', async () => {
          const store = deployed.storeAt(0);
          const { jobId, attempt, ...claim } = await takePlace(0);
          const jobIds = newIds();
          const bodies = jobIds.map((id) => jobBody('take-turns', primes(bytes), { jobId: id }));
          expect(await invoke(await batch(bodies))).toEqual(ALL_TAKEN);
          expect((await store.waiting(TURNS.name, 99)).toSorted()).toEqual(jobIds.toSorted());
          await store.complete({ jobId, attempt, ...claim });
          let { reserved } = await store.leave({ group: TURNS.name, jobId, attempt });
          for (const _ of jobIds) {
            expect(reserved).toHaveLength(1);
            const hints = reserved.map((id) => hintBody({ jobId: id, type: 'take-turns' }));
            expect(await invoke(await batch(hints))).toEqual(ALL_TAKEN);
            for (const id of reserved) expect(await statusOf(id)).toBe('done');
            reserved = await store.waiting(TURNS.name, 1);
          }
          expect(reserved).toEqual([]);
        });

        it('keeps messages that cannot be run', async () => {
          const jobIds = newIds();
          const bodies = jobIds.map((jobId) =>
            JSON.stringify({ ...JSON.parse(jobBody('count-primes', primes(bytes), { jobId })), type: 7 }),
          );
          expect(await invoke(await batch(bodies))).toEqual(ALL_TAKEN);
          for (const jobId of jobIds) expect(await statusOf(`bad:${jobId}`)).toBe('failed');
        });

        it('retries jobs by hints, from a checkpoint of that size', async () => {
          const store = deployed.storeAt(0);
          const jobIds = newIds();
          for (const jobId of jobIds) {
            const payload = JSON.stringify({ url: 'http://127.0.0.1:9', body: 'x'.repeat(bytes) });
            const job = { ...jobOf(jobId, 0), type: 'call-service', payload };
            const outcome = await store.claim({ job, owner: `before/${jobId}` });
            if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
            const claim = claimOf(outcome.job);
            await store.checkpoint(claim, { seq: 1, checkpoint: 'y'.repeat(bytes) });
            const now = Date.now();
            const dispatch = { notBefore: now, leaseUntil: now + 60_000, dispatches: 1 };
            await store.release(claim, { errors: 0, releases: 1, dispatch });
          }
          expect(await invoke(await batch(jobIds.map((jobId) => hintBody({ jobId }))))).toEqual(ALL_TAKEN);
          for (const jobId of jobIds)
            expect(await store.read(jobId)).toMatchObject({ status: 'pending', errors: 1 });
        });
      },
    );

    it('runs jobs by hints whose payload fills several rows', async () => {
      const jobIds = newIds();
      for (const jobId of jobIds)
        await deployed
          .storeAt(-60_000)
          .schedule(jobOf(jobId, 500_000), { notBefore: 0, leaseUntil: 1, dispatches: 1 });
      expect(await invoke(await batch(jobIds.map((jobId) => hintBody({ jobId }))))).toEqual(ALL_TAKEN);
      for (const jobId of jobIds) expect(await statusOf(jobId)).toBe('done');
    });

    it('forgets hints whose rows are gone', async () => {
      expect(await invoke(await batch(newIds().map((jobId) => hintBody({ jobId }))))).toEqual(ALL_TAKEN);
    });
  });

  it('a worker gives a message back that it has no time for', async () => {
    const bodies = [newId(), newId()].map((jobId) => jobBody('count-primes', primes(0), { jobId }));
    const event = await deployed.batch(deployed.queues.queue, bodies);
    expect(await deployed.functions.worker.invoke(event)).toEqual({
      outcome: 'response',
      payload: { batchItemFailures: [{ itemIdentifier: event.Records[1]?.messageId }] },
    });
  });

  it('a worker with batchConcurrency 10 renews several leases by one request', async () => {
    let batched = 0;
    const broken = breakage();
    breakBy((permissions, body) => {
      if (permissions.includes(BATCHED_UPDATE)) batched += 1;
      return broken(permissions, body);
    });
    const service = await patientService(() => batched > 0);
    const jobIds = Array.from({ length: 10 }, newId);
    const payload = (i: number) => ({ url: service.url, unread: 'x'.repeat(i * 1_000) });
    const bodies = jobIds.map((jobId, i) => jobBody('await-service', payload(i), { jobId }));
    const lines = deployed.lines.length;
    try {
      const event = await deployed.batch(deployed.queues.queue, bodies);
      expect(await deployed.wideWorker.invoke(event)).toEqual(ALL_TAKEN);
    } finally {
      service.stop();
    }
    for (const jobId of jobIds)
      expect(await deployed.storeAt(0).read(jobId)).toMatchObject({ status: 'done', attempt: 1 });
    const logged = deployed.lines.slice(lines).flatMap((line) => (line.kind === 'log' ? [line.message] : []));
    expect(logged).not.toContain('heartbeat failed');
  });

  describe.each(sizes)('a reaper, with payloads of %i bytes', (bytes) => {
    it.each([1, 8])(
      'moves %i lapsed jobs on, and repeats the hints of those that wait, in the queue of each pool',
      async (count) => {
        const past = deployed.storeAt(-300_000);
        const lapsed = Array.from({ length: count }, newId);
        for (const jobId of lapsed) await past.claim({ job: jobOf(jobId, bytes), owner: `gone/${jobId}` });
        const waiting = [newId(), newId(), newId()];
        const types = ['count-primes', 'elsewhere', 'in-a-box'];
        for (const [i, jobId] of waiting.entries())
          await past.schedule(
            { ...jobOf(jobId, bytes), type: types[i] as string },
            { notBefore: 0, leaseUntil: 1, dispatches: 1 },
          );
        expect(await deployed.functions.reaper.invoke({})).toMatchObject({ outcome: 'response' });
        for (const jobId of lapsed) expect(await statusOf(jobId)).toBe('pending');
        for (const jobId of waiting) expect((await deployed.table.read(jobId))?.dispatches).toBe(2);
      },
    );
  });

  it('a reaper passes on the place of a job that it fails', async () => {
    const { jobId } = await takePlace(-300_000, 1);
    const waiting = newId();
    const dispatch = { notBefore: 0, leaseUntil: Date.now() + 60_000, dispatches: 1 };
    await deployed.storeAt(0).schedule(turnOf(waiting), dispatch, { waitsFor: TURNS.name });
    expect(await deployed.functions.reaper.invoke({})).toMatchObject({ outcome: 'response' });
    expect(await statusOf(jobId)).toBe('failed');
    const group = parseGroup(await deployed.table.read(TURNS.name));
    expect(Object.keys(group.members)).toEqual([waiting]);
    const next = await deployed.batch(deployed.queues.queue, [
      hintBody({ jobId: waiting, type: 'take-turns' }),
    ]);
    expect(await deployed.functions.worker.invoke(next)).toEqual(ALL_TAKEN);
    expect(await statusOf(waiting)).toBe('done');
  });

  describe.each(sizes)('a dead-letter consumer, with payloads of %i bytes', (bytes) => {
    it('keeps jobs that were never claimed, and recognizes them', async () => {
      const [now, later, bad] = [newId(), newId(), newId()];
      const event = await deployed.batch(deployed.queues.deadLetterQueue, [
        jobBody('count-primes', primes(bytes), { jobId: now, key: 'tenant-7' }),
        jobBody('count-primes', primes(bytes), { jobId: later, delayMs: 3_600_000 }),
        JSON.stringify({ jobId: bad, unknown: 'x'.repeat(bytes) }),
        hintBody({ jobId: now }),
        ...['elsewhere', 'in-a-box'].map((type) => jobBody(type, primes(bytes), { jobId: newId() })),
      ]);
      const consumer = deployed.functions['dead-letter'];
      expect(await consumer.invoke(event)).toEqual(ALL_TAKEN);
      expect(await consumer.invoke(again(event))).toEqual(ALL_TAKEN);
      const stored = await deployed.storeAt(0).read(now);
      expect(stored).toMatchObject({
        ...{ status: 'pending', key: 'tenant-7' },
        payload: JSON.stringify(primes(bytes)),
      });
      expect(await statusOf(later)).toBe('pending');
      expect(await statusOf(`bad:${bad}`)).toBe('failed');
    });
  });
});

// Last: every call has been made by now, through gates that enforce the policies.
describe('what the functions write', () => {
  it('is structured, with nothing said of errors in Leasehold itself, and has metrics of the contract', () => {
    const { lines } = deployed;
    expect(lines.filter(({ kind }) => kind === 'text')).toEqual([]);
    expect(lines.filter((line) => line.kind === 'log' && line.level === 'ERROR')).toEqual([]);
    const emitted = lines.flatMap((line) => (line.kind === 'metrics' ? Object.keys(line.values) : []));
    expect([...Object.keys(metrics), 'TasksWanted']).toEqual(expect.arrayContaining(emitted));
    expect(emitted).toEqual(expect.arrayContaining(['JobsDone', 'JobsRetried', 'ReclaimDelay']));
  });
});

describe('the policy of each function', () => {
  const byLambda = (name: FunctionName): readonly string[] => {
    const queue = { worker: 'Queue', 'dead-letter': 'DeadLetterQueue', reaper: 'WakeQueue' }[name];
    return ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes'].map(
      (action) => `sqs:${action} on ${queue}`,
    );
  };
  const isNoLog = (permission: string) => !/^(logs|xray):/.test(permission);

  it.each(names)('allows the %s every call that it makes', (name) => {
    expect([...deployed.functions[name].gate.denied]).toEqual([]);
  });

  it.each(names)('allows the %s no call that neither it nor Lambda makes', (name) => {
    const { permissions, gate } = deployed.functions[name];
    const made = new Set([...gate.asked, ...byLambda(name)]);
    expect(permissions.filter(isNoLog)).toEqual([...made].sort());
  });
});
