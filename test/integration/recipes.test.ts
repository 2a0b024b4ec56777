import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  ConditionalCheckFailedException,
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createProducer } from '../../lib/client/producer/index.ts';
import { createRegistry, defineJob, type JobDefinition, NonRetryableError } from '../../lib/index.ts';
import { testJob } from '../../lib/testing/test-job.ts';
import { startWorkerProcess, type WorkerProcess } from '../../lib/worker/hosts/process-host.ts';
import { anyEngine, local } from '../support/engines.ts';
import { recipes, runRecipe } from '../support/recipes.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

const order = z.object({ order: z.int() });
const registry = createRegistry([
  defineJob({ type: 'send-invoice', payload: order, run: ({ payload }) => ({ sent: payload.order }) }),
  defineJob({ type: 'send-reminder', payload: order, run: () => undefined }),
]);

let stack: WorkerStack;
let worker: WorkerProcess;
const dynamoDb = new DynamoDBClient({ ...local, endpoint: anyEngine().endpoint });
const indexed: number[] = [];
const was = { ...process.env };

beforeAll(async () => {
  stack = await startWorkerStack();
  worker = startWorkerProcess({ parts: stack.worker(registry), signals: false });
  const { LEASEHOLD_QUEUE_URL, LEASEHOLD_TABLE_NAME, ...endpoints } = stack.environment;
  Object.assign(process.env, { LEASEHOLD_QUEUE_URL, LEASEHOLD_TABLE_NAME });
  for (const [name, value] of Object.entries(endpoints))
    if (name.startsWith('AWS_ENDPOINT')) process.env[name] = value;
  await dynamoDb.send(
    new CreateTableCommand({
      TableName: 'orders',
      KeySchema: [{ AttributeName: 'order', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'order', AttributeType: 'N' }],
      BillingMode: 'PAY_PER_REQUEST',
    }),
  );
});
afterAll(async () => {
  process.env = was;
  await worker.stop({ graceMs: 0 });
  await dynamoDb.send(new DeleteTableCommand({ TableName: 'orders' }));
  dynamoDb.destroy();
  await stack.close();
});

/** Runs the one recipe that has these words, with what it takes for granted. */
const run = (words: string) => {
  const found = recipes('code').filter(({ text }) => text.includes(words));
  expect(found).toHaveLength(1);
  // A date on the page stays within the year that a job may wait.
  const clock = { now: () => Date.parse('2026-12-01') };
  return runRecipe(found[0] as (typeof found)[number], {
    ...{ createRegistry, defineJob, NonRetryableError, z, registry, dynamoDb, UpdateItemCommand },
    orders: Array.from({ length: 25 }, (_, n) => 100 + n),
    producer: createProducer({ registry, clock }),
    indexPage: async (page: number) => void indexed.push(page),
  });
};
const done = (jobId: string) => stack.until(jobId, (job) => job?.status === 'done');
const jobOf = (exports: object) => Object.values(exports)[0] as JobDefinition;

describe('the recipes', () => {
  it('have a test each', () => expect(recipes('code')).toHaveLength(9));

  it('send a job', async () => {
    await run('createProducer(');
    expect(await done('invoice-4711')).toMatchObject({ result: { sent: 4711 } });
  });

  it('send jobs for later', async () => {
    await run('notBefore:');
  });

  it('wait for a result', async () => {
    await run('client.waitFor(');
  });

  it('send many', async () => {
    await run('await producer.sendMany(orders.map((order) =>');
    expect(await done('invoice-124')).toMatchObject({ result: { sent: 124 } });
  });

  it('send so many a second', async () => {
    await run('orders.map((order, n) =>');
  });

  it('call a service that may be down', async () => {
    const replies = [500, 503, 200, 404];
    const keys: unknown[] = [];
    const server = createServer((request, response) => {
      keys.push(request.headers['idempotency-key']);
      response.writeHead(replies.shift() ?? 500).end();
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const payload = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, text: 'hello' };
    const notify = jobOf(await run("type: 'notify'"));
    expect(await testJob(notify, payload).finish()).toMatchObject({ status: 'done', attempt: 3, errors: 2 });
    expect(new Set(keys).size).toBe(1);
    expect(await testJob(notify, payload).finish()).toMatchObject({ status: 'failed', attempt: 1 });
    server.close();
  });

  it('go on where the time ran out', async () => {
    const job = testJob(jobOf(await run("type: 'reindex'")), { pages: 4 });
    expect(await job.run({ fault: 'deadline', after: 2 })).toBe('released');
    expect(await job.finish()).toMatchObject({ status: 'done', attempt: 2, crashes: 0 });
    expect(indexed).toEqual([0, 1, 2, 3]);
  });

  it('have an effect exactly once, and none of an older claim', async () => {
    const settle = jobOf(await run("type: 'settle'"));
    const attempt = (fencingToken: number, jobId = 'a', cents = 100 * fencingToken) =>
      settle.run({ jobId, fencingToken, payload: { order: 7, cents } } as never, {} as never);
    await attempt(2);
    await attempt(2);
    await expect(attempt(1)).rejects.toThrow(ConditionalCheckFailedException);
    await expect(attempt(3, 'another')).rejects.toThrow(ConditionalCheckFailedException);
    await attempt(3, 'a', 250);
    const { Item } = await dynamoDb.send(
      new GetItemCommand({ TableName: 'orders', Key: { order: { N: '7' } } }),
    );
    expect(Item).toMatchObject({ paid: { N: '250' }, settledBy: { S: 'a' }, fence: { N: '3' } });
  });

  it('start many from one, none of them twice', async () => {
    const job = testJob(
      jobOf(await run("type: 'bill-everybody'")),
      { orders: [1, 2] },
      { send: { jobId: 'all' } },
    );
    expect(await job.finish()).toMatchObject({ status: 'done', result: { started: 2 } });
    for (const child of ['all.1', 'all.2']) expect(await done(child)).toMatchObject({ attempt: 1 });
  });
});
