import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import {
  type DynamoDBClient,
  GetItemCommand,
  TransactionCanceledException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { systemClock, systemRandom } from '../../lib/aws/clock.ts';
import { noEvents } from '../../lib/aws/eventbridge.ts';
import {
  type Client,
  createClient,
  EnqueueRefusedError,
  MessageRefusedError,
} from '../../lib/client/index.ts';
import { defineJob } from '../../lib/index.ts';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import type { Hint } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { sweep } from '../../lib/reaper/sweep.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { createKeptTelemetry } from '../../lib/testing/kept-telemetry.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { type CliSystem, createCliSystem } from '../support/cli.ts';
import { describeOnEachEngine, dynamoDbClient, local, sqsEndpoint } from '../support/engines.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { newJob } from '../support/jobs.ts';

const registry = createRegistry([
  defineJob({
    type: 'ship',
    payload: z.object({ order: z.number(), note: z.optional(z.string()) }),
    maxAttempts: 4,
    run: () => undefined,
  }),
]);

describeOnEachEngine('a job in a transaction of the user', (engine) => {
  let system: CliSystem;
  let proxy: FaultProxy;
  let client: Client<typeof registry>;
  let mine: DynamoDBClient;

  beforeEach(async () => {
    system = await createCliSystem(engine);
    await system.put({ jobId: 'leader:reaper', shards: defaultSettings.shards });
    proxy = await startFaultProxy({ target: engine.endpoint });
    mine = dynamoDbClient(engine.endpoint);
    client = createClient({
      ...{ registry, table: system.tableName, queue: system.queueUrl },
      dynamodb: { ...local, endpoint: proxy.endpoint },
      sqs: { ...local, endpoint: sqsEndpoint() },
    });
  });
  afterEach(async () => {
    client.close();
    mine.destroy();
    system.close();
    await proxy.stop();
  });

  /** The user's own row, in any table: here under another key of the same one. */
  const order = (condition = 'attribute_not_exists(jobId)') => ({
    Put: {
      TableName: system.tableName,
      Item: { jobId: { S: 'order:7' } },
      ConditionExpression: condition,
    },
  });
  const orderIsThere = async () =>
    (
      await mine.send(
        new GetItemCommand({
          TableName: system.tableName,
          Key: { jobId: { S: 'order:7' } },
          ConsistentRead: true,
        }),
      )
    ).Item !== undefined;
  type Items = Awaited<ReturnType<typeof client.enqueueItems>>;
  const commit = (job: Items, own = order(), token = job.clientRequestToken) =>
    mine.send(
      new TransactWriteItemsCommand({ TransactItems: [own, ...job.items], ClientRequestToken: token }),
    );
  const claim = (jobId: string, owner = 'worker-a/1') => system.store.claim({ job: { jobId }, owner });
  /** What the reaper does at a moment. */
  const hintsSentAt = async (now: number) => {
    const clock = createFakeClock(now);
    const hints: Hint[] = [];
    const queue = {
      sendHints: async (sent: readonly Hint[]) => {
        hints.push(...sent);
        return { sent: sent.length, failed: [] };
      },
    };
    const { table } = system;
    const settings = defaultSettings;
    const store = createJobStore({ table, clock, random: systemRandom, settings, actor: 'reaper' });
    const telemetry = createKeptTelemetry();
    await sweep({ table, store, queue, clock, random: systemRandom, settings, telemetry, events: noEvents });
    return hints.map(({ jobId }) => jobId);
  };

  it('is written together with the rows of the user, and runs by its hint', async () => {
    const job = await client.enqueueItems('ship', { order: 7 }, { jobId: 'ship-7' });
    expect(await system.table.read('ship-7')).toBeUndefined();
    await commit(job);
    expect(await orderIsThere()).toBe(true);
    expect(await job.sendHint()).toEqual({ sent: true, reason: undefined });
    expect(await claim('ship-7')).toMatchObject({
      outcome: 'claimed',
      job: { type: 'ship', payload: '{"order":7}', attempt: 1, maxAttempts: 4 },
    });
  });

  it('is not written where the rows of the user are refused, and refuses them where it exists already', async () => {
    const job = await client.enqueueItems('ship', { order: 7 }, { jobId: 'ship-7' });
    await expect(commit(job, order('attribute_exists(jobId)'))).rejects.toBeInstanceOf(
      TransactionCanceledException,
    );
    expect(await job.wasWritten()).toBe(false);
    await system.store.claim({ job: newJob('ship-7'), owner: 'worker-a/1' });
    const before = await system.table.read('ship-7');
    await expect(commit(job)).rejects.toBeInstanceOf(TransactionCanceledException);
    expect(await orderIsThere()).toBe(false);
    expect(await system.table.read('ship-7')).toEqual(before);
  });

  it('is as the worker itself would keep it for later, to the last attribute', async () => {
    const job = await client.enqueueItems('ship', { order: 7 }, { jobId: 'ship-7', delayMs: 3_600_000 });
    await commit(job);
    const now = systemClock.now();
    const theirs = newJob('twin', {
      ...{ type: 'ship', payload: '{"order":7}', maxAttempts: 4 },
      ...{ maxCrashes: defaultSettings.maxCrashes, leaseMs: defaultSettings.leaseMs },
    });
    await system.store.schedule(theirs, planDispatch(now, now + 3_600_000, defaultSettings));
    const [mine, twin] = await system.table.readMany(['ship-7', 'twin']);
    const own = { jobId: 'twin', leaseShard: twin?.leaseShard, changedBy: twin?.changedBy };
    const times = { createdAt: twin?.createdAt, notBefore: twin?.notBefore, leaseUntil: twin?.leaseUntil };
    // Besides the token, by which a repeat knows its own success.
    expect({ ...mine, ...own, ...times }).toEqual({ ...twin, enqueueToken: job.clientRequestToken });
    expect(Number(mine?.notBefore) - Number(mine?.leaseUntil)).toBe(
      Number(twin?.notBefore) - Number(twin?.leaseUntil),
    );
    expect(String(mine?.changedBy)).toMatch(/^client\//);
    expect(await job.sendHint()).toMatchObject({ sent: false });
  });

  it('brings a payload that does not fit its row, in the same transaction', async () => {
    const note = 'x'.repeat(20_000);
    const job = await client.enqueueItems('ship', { order: 7, note }, { jobId: 'ship-7' });
    expect(job.items).toHaveLength(2);
    await commit(job);
    const claimed = await claim('ship-7');
    expect(claimed).toMatchObject({
      outcome: 'claimed',
      job: { payload: JSON.stringify({ order: 7, note }) },
    });
  });

  it('is found by the reaper when its producer is killed between commit and hint, and not before its queue lease ends', async () => {
    const program = join(import.meta.dirname, '..', 'support', 'commit-and-die.ts');
    const child = spawn(process.execPath, [program, system.tableName, system.queueUrl, 'ship-7'], {
      env: { ...process.env, ...system.environment },
      stdio: 'inherit',
    });
    const [, signal] = await once(child, 'close');
    expect(signal).toBe('SIGKILL');
    expect(await orderIsThere()).toBe(true);
    const reply = await system.sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: system.queueUrl, AttributeNames: ['All'] }),
    );
    expect(reply.Attributes?.ApproximateNumberOfMessages).toBe('0');
    const { leaseUntil } = (await system.table.read('ship-7')) as { leaseUntil: number };
    expect(leaseUntil - systemClock.now()).toBeLessThanOrEqual(defaultSettings.dispatchLeaseMs);
    expect(await hintsSentAt(leaseUntil - 1)).toEqual([]);
    expect(await hintsSentAt(leaseUntil + 1)).toEqual(['ship-7']);
    expect(await claim('ship-7')).toMatchObject({ outcome: 'claimed', job: { payload: '{"order":7}' } });
  });

  it('is one job however often the transaction is repeated under its token', async () => {
    const job = await client.enqueueItems('ship', { order: 7 }, { jobId: 'ship-7' });
    await commit(job);
    await claim('ship-7');
    const before = await system.table.read('ship-7');
    await commit(job);
    expect(await system.table.read('ship-7')).toEqual(before);
  });

  it('tells its own success from another’s when DynamoDB has forgotten the token', async () => {
    const job = await client.enqueueItems('ship', { order: 7 }, { jobId: 'ship-7' });
    await commit(job);
    await expect(commit(job, order(), 'another-token')).rejects.toBeInstanceOf(TransactionCanceledException);
    expect(await job.wasWritten()).toBe(true);
    await claim('ship-7');
    expect(await job.wasWritten()).toBe(true);
    const rival = await client.enqueueItems('ship', { order: 8 }, { jobId: 'ship-7' });
    await expect(commit(rival)).rejects.toBeInstanceOf(TransactionCanceledException);
    expect(await rival.wasWritten()).toBe(false);
  });

  it('is one job, and one row of the user, when twelve transactions and twelve claims meet', async () => {
    const jobs = await Promise.all(
      Array.from({ length: 12 }, () => client.enqueueItems('ship', { order: 7 }, { jobId: 'ship-7' })),
    );
    const committing = jobs.map((job) =>
      commit(job).then(
        () => 'committed' as const,
        (error: unknown) => error,
      ),
    );
    const claims = Array.from({ length: 12 }, (_, i) =>
      claim('ship-7', `worker-${i}/1`).then(
        ({ outcome }) => outcome,
        (error: { code?: string }) => error.code,
      ),
    );
    const [commits, outcomes] = await Promise.all([Promise.all(committing), Promise.all(claims)]);
    // Refused by the condition, or for a rival that was under way: where an engine shows such conflicts, both are told apart.
    for (const refused of commits.filter((each) => each !== 'committed')) {
      expect(refused).toBeInstanceOf(TransactionCanceledException);
      const codes = (refused as TransactionCanceledException).CancellationReasons?.map(({ Code }) => Code);
      for (const code of codes ?? [])
        expect(['None', 'ConditionalCheckFailed', 'TransactionConflict']).toContain(code);
    }
    // Whoever met only conflicts repeats its transaction as it is.
    if (!commits.includes('committed')) await commit(jobs[0] as Items);
    expect(commits.filter((each) => each === 'committed').length).toBeLessThanOrEqual(1);
    expect(outcomes.filter((each) => each === 'claimed').length).toBeLessThanOrEqual(1);
    // Contended: refused for a row that was absent, and there by the time it was looked at.
    for (const outcome of outcomes)
      expect(['claimed', 'absent', 'held', 'contended', 'STORE_UNAVAILABLE']).toContain(outcome);
    const written = await Promise.all(jobs.map((job) => job.wasWritten()));
    expect(written.filter(Boolean)).toHaveLength(1);
    if (!outcomes.includes('claimed'))
      expect(await claim('ship-7')).toMatchObject({ outcome: 'claimed', job: { attempt: 1 } });
    expect(await system.store.read('ship-7')).toMatchObject({ status: 'running', attempt: 1 });
    expect(await orderIsThere()).toBe(true);
  });

  it('is refused, before anything is sent, where it would be a guess or no worker would run it', async () => {
    const { enqueueItems } = client;
    await expect(enqueueItems('ship', { order: 'x' } as never)).rejects.toBeInstanceOf(MessageRefusedError);
    await expect(enqueueItems('shop' as never, {} as never)).rejects.toThrow("Did you mean 'ship'?");
    await system.put({ jobId: 'leader:reaper' });
    const guess = await enqueueItems('ship', { order: 7 }).catch((error: unknown) => error);
    expect(guess).toBeInstanceOf(EnqueueRefusedError);
    expect(String(guess)).toMatch(/no reaper has run.*leasehold dev/);
    const untyped = createClient({ table: system.tableName, region: 'eu-west-1' });
    await expect(untyped.enqueueItems('ship', {})).rejects.toThrow(/Give createClient the registry/);
    untyped.close();
    expect(Object.keys(proxy.counts)).toEqual(['GetItem']);
  });

  it('comes for the document client as well', async () => {
    const { documentItems } = await client.enqueueItems('ship', { order: 7 }, { jobId: 'ship-7' });
    const update = documentItems.at(-1)?.Update;
    expect(update?.Key).toEqual({ jobId: 'ship-7' });
    expect(Object.values(update?.ExpressionAttributeValues ?? {})).toContain('pending');
    expect(update).not.toHaveProperty('ReturnValues');
  });
});
