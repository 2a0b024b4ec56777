import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import * as z from 'zod/mini';
import { systemClock } from '../../lib/aws/clock.ts';
import {
  ActRefusedError,
  BadRequestError,
  type Client,
  createClient,
  JobCancelledError,
  JobFailedError,
  JobNotFoundError,
  MessageRefusedError,
  ScanNeededError,
  WaitTimedOutError,
} from '../../lib/client/index.ts';
import { defineJob } from '../../lib/index.ts';
import { claimOf } from '../../lib/protocol/job.ts';
import { createControlReader } from '../../lib/protocol/limits/control.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { type CliSystem, createCliSystem } from '../support/cli.ts';
import { describeOnOneEngine, local, sqsEndpoint } from '../support/engines.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { newJob } from '../support/jobs.ts';

const registry = createRegistry([
  defineJob({ type: 'greet', payload: z.object({ name: z.string() }), run: () => undefined }),
]);

describeOnOneEngine('a client', (engine) => {
  let system: CliSystem;
  let proxy: FaultProxy;
  let client: Client<typeof registry>;

  beforeEach(async () => {
    system = await createCliSystem(engine);
    proxy = await startFaultProxy({ target: engine.endpoint });
    client = createClient({
      ...{ registry, table: system.tableName, queue: system.queueUrl },
      dynamodb: { ...local, endpoint: proxy.endpoint },
      sqs: { ...local, endpoint: sqsEndpoint() },
    });
  });
  afterEach(async () => {
    client.close();
    system.close();
    await proxy.stop();
  });

  const claim = async (jobId: string) => {
    const job = newJob(jobId, { type: 'greet', payload: '{"name":"Ada"}' });
    const outcome = await system.store.claim({ job, owner: `worker-a/${jobId}` });
    if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
    return claimOf(outcome.job);
  };
  const fail = async (jobId: string) =>
    system.store.fail(await claim(jobId), { errors: 1, lastError: 'Error: boom' });
  const done = async (jobId: string) => system.store.complete(await claim(jobId), { n: 1 });

  describe('get', () => {
    it('is one read, with the payload as it was sent', async () => {
      await claim('a');
      const job = await client.get('a');
      expect(job).toEqual({
        ...{ jobId: 'a', type: 'greet', status: 'running', payload: { name: 'Ada' }, attempt: 1 },
        ...{ cancelRequested: false, createdAt: expect.any(Number), startedAt: expect.any(Number) },
      });
      expect(proxy.counts).toEqual({ GetItem: 1 });
    });

    it('says of an id without a row that it is not started or unknown, with the depth of the queue', async () => {
      await client.send('greet', { name: 'Ada' }, { jobId: 'waiting' });
      expect(await client.get('waiting')).toMatchObject({
        status: 'unknown',
        queue: { visible: 1, inFlight: 0, delayed: 0 },
        message: expect.stringMatching(/'waiting'.*not started, or unknown.*1 message wait/),
      });
    });
  });

  it('finds a rejected message by the id that it named, and waits no longer for it', async () => {
    const rejected = { messageId: 'm-1', jobId: 'order-7', text: '{}', bytes: 2, sha256: 'x' };
    await system.store.reject({ ...rejected, reason: 'the payload is refused' });
    expect(await client.get('order-7')).toMatchObject({
      ...{ jobId: 'bad:order-7', status: 'failed', lastError: 'the payload is refused' },
    });
    await expect(client.waitFor('order-7')).rejects.toBeInstanceOf(JobFailedError);
  });

  describe('waitFor', () => {
    it('waits for a job that has no row yet, and returns its result', async () => {
      const waiting = client.waitFor('late');
      await expect.poll(() => proxy.counts.GetItem ?? 0).toBeGreaterThan(1);
      await done('late');
      expect(await waiting).toEqual({ n: 1 });
      expectTypeOf(client.send<'greet'>)
        .parameter(1)
        .toEqualTypeOf<{ name: string }>();
    });

    it('throws a typed error for a job that failed, was cancelled or has not ended in time', async () => {
      await fail('bad');
      const failed = await client.waitFor('bad').catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(JobFailedError);
      expect(failed).toMatchObject({
        code: 'JOB_FAILED',
        job: { status: 'failed', lastError: 'Error: boom' },
      });
      await client.revive('bad');
      await client.cancel('bad');
      await expect(client.waitFor('bad')).rejects.toBeInstanceOf(JobCancelledError);
      await claim('slow');
      const late = await client.waitFor('slow', { timeoutMs: 0 }).catch((error: unknown) => error);
      expect(late).toBeInstanceOf(WaitTimedOutError);
      expect(late).toMatchObject({ job: { jobId: 'slow', status: 'running' } });
      await expect(client.waitFor('nobody', { timeoutMs: 0 })).rejects.toThrow('not started, or unknown');
    });

    it('ends with the reason of its signal, and leaves the job alone', async () => {
      await claim('a');
      const gone = new Error('the request was closed');
      const stop = new AbortController();
      const waiting = client.waitFor('a', { signal: stop.signal });
      stop.abort(gone);
      await expect(waiting).rejects.toBe(gone);
      expect((await system.store.read('a'))?.status).toBe('running');
    });
  });

  describe('acting on jobs', () => {
    it('cancels, revives and takes back, and says what the job is now', async () => {
      await claim('r');
      expect(await client.cancel('r')).toMatchObject({ status: 'running', cancelRequested: true });
      await fail('f');
      expect(await client.revive('f')).toMatchObject({ status: 'pending', attempt: 1 });
      await claim('t');
      expect(await client.takeBack('t')).toMatchObject({ status: 'pending' });
      expect(await system.store.read('t')).toMatchObject({
        acts: [{ act: 'takeBack', by: 'client' }],
      });
      expect((await client.stats()).queue).toMatchObject({ visible: expect.any(Number) });
    });

    it('refuses with the job as it is, and changes nothing', async () => {
      await done('d');
      const before = await system.table.read('d');
      const refused = await client.revive('d').catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(ActRefusedError);
      expect(refused).toMatchObject({ code: 'ACT_REFUSED', job: { status: 'done' } });
      expect(await system.table.read('d')).toEqual(before);
      await expect(client.cancel('nobody')).rejects.toBeInstanceOf(JobNotFoundError);
    });

    it('puts a revived row into a shard that the reaper sweeps, whatever its own settings say', async () => {
      await system.put({ jobId: 'leader:reaper', shards: 1 });
      await fail('f');
      await client.revive('f');
      expect((await system.table.read('f'))?.leaseShard).toBe('q0');
    });
  });

  describe('list', () => {
    it('pages through what ls lists, and reads the number of shards only once', async () => {
      await system.put({ jobId: 'leader:reaper', shards: defaultSettings.shards });
      for (const id of ['a', 'b', 'c']) await claim(id);
      const first = await client.list({ status: 'running', limit: 2 });
      const second = await client.list({ status: 'running', limit: 2, cursor: first.cursor });
      expect([...first.jobs, ...second.jobs].map(({ jobId }) => jobId).sort()).toEqual(['a', 'b', 'c']);
      expect(second.cursor).toBeUndefined();
      expect(proxy.counts.GetItem).toBe(1);
    });

    it('scans only when it is asked to, and says the price before', async () => {
      await done('d');
      const refused = await client.list({ status: 'done' }).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(ScanNeededError);
      expect(refused).toMatchObject({ cost: { readUnits: expect.any(Number) } });
      expect(proxy.counts.Scan).toBeUndefined();
      expect((await client.list({ status: 'done', scan: true })).jobs).toMatchObject([{ jobId: 'd' }]);
    });
  });

  describe('pause, resume and limit', () => {
    it('say what they did', async () => {
      const types = new Map([['greet', { perKey: 2 }]]);
      await createControlReader({ ...system, clock: systemClock }).declare(types);
      expect((await system.run(['pause', 'greet', '--json'])).json()).toEqual({
        type: 'greet',
        paused: true,
      });
      expect((await system.run(['resume', 'greet', '--json'])).json()).toMatchObject({ hinted: 0 });
      const changed = await system.run(['limit', 'greet', '1', '--key', 'tenant-7', '--json']);
      expect(changed.json()).toEqual({ type: 'greet', key: 'tenant-7', limit: 1 });
      expect((await system.run(['limit', 'greet', 'default', '--key', 'tenant-7'])).stdout).toContain(
        'own limit',
      );
    });
  });

  describe('bad input', () => {
    it.each<[string, (client: Client) => Promise<unknown>, RegExp]>([
      ['an id', (c) => c.get('a b'), /jobId is 'a b'; it must be 1 to 200/],
      ['the reaper’s own row', (c) => c.cancel('leader:reaper'), /jobId is 'leader:reaper'/],
      ['a status', (c) => c.list({ status: 'gone' as never }), /status is 'gone'.*unfinished, pending/],
      ['a limit', (c) => c.list({ limit: 0 }), /limit is 0.*1 to 10000/],
      ['a cursor', (c) => c.list({ cursor: 'nonsense' }), /the cursor is 'nonsense'/],
      ['a timeout', (c) => c.waitFor('a', { timeoutMs: Number.NaN }), /timeoutMs is NaN/],
    ])(
      'is refused for %s with the value and what is allowed, before anything is written',
      async (_what, call, message) => {
        const refused = await call(client as unknown as Client).catch((error: unknown) => error);
        expect(refused).toBeInstanceOf(BadRequestError);
        expect(String(refused)).toMatch(message);
        expect(proxy.counts.UpdateItem).toBeUndefined();
      },
    );

    it('is refused where the worker would refuse the message', async () => {
      await expect(client.send('greet', { name: 1 } as never)).rejects.toBeInstanceOf(MessageRefusedError);
    });
  });
});
