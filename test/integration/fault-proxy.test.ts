import { GetItemCommand, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { createTable } from '../support/create-table.ts';
import { describeOnOneEngine, dynamoDbClient, uniqueName } from '../support/engines.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { on } from '../support/faults.ts';

/** One attempt only, so that each fault is seen by the test and not cured by the SDK. */
const once = { maxAttempts: 1 } as const;

describeOnOneEngine('a fault proxy before DynamoDB', (engine) => {
  const TableName = uniqueName('jobs');
  const direct = dynamoDbClient(engine.endpoint);
  let proxy: FaultProxy;
  let client: ReturnType<typeof dynamoDbClient>;

  beforeAll(() => direct.send(createTable(TableName)));
  afterAll(() => direct.destroy());

  beforeEach(async () => {
    proxy = await startFaultProxy({ target: engine.endpoint });
    client = dynamoDbClient(proxy.endpoint, once);
  });

  afterEach(async () => {
    client.destroy();
    await proxy.stop();
  });

  const beat = (jobId: string) =>
    new UpdateItemCommand({
      TableName,
      Key: { jobId: { S: jobId } },
      UpdateExpression: 'ADD beats :one',
      ExpressionAttributeValues: { ':one': { N: '1' } },
    });
  const beats = async (jobId: string) => {
    const Key = { jobId: { S: jobId } };
    const { Item } = await direct.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }));
    return Number(Item?.beats?.N ?? 0);
  };
  const newId = () => uniqueName('j');

  it('passes requests on unchanged, and counts requests, bytes and consumed capacity', async () => {
    const jobId = newId();
    const command = beat(jobId);
    command.input.ReturnConsumedCapacity = 'TOTAL';
    await client.send(command);
    await client.send(beat(jobId));
    await client.send(new GetItemCommand({ TableName, Key: { jobId: { S: jobId } } }));
    expect(await beats(jobId)).toBe(2);
    expect(proxy.counts).toEqual({ UpdateItem: 2, GetItem: 1 });
    expect(proxy.tally.of('UpdateItem')).toMatchObject({ requests: 2, forwarded: 2, capacityUnits: 1 });
    expect(proxy.tally.of('UpdateItem').requestBytes).toBeGreaterThan(200);
    expect(proxy.tally.of('GetItem').replyBytes).toBeGreaterThan(jobId.length);
  });

  it('delivers an answer that has become old in the meantime', async () => {
    const jobId = newId();
    const gate = Promise.withResolvers<void>();
    proxy.use(on('GetItem', { kind: 'hold', after: gate.promise }, { nth: 1 }));
    const read = client.send(new GetItemCommand({ TableName, Key: { jobId: { S: jobId } } }));
    await expect.poll(() => proxy.tally.of('GetItem').forwarded).toBe(1);
    await client.send(beat(jobId));
    gate.resolve();
    expect((await read).Item).toBeUndefined();
  });

  it('stops at once with requests held, delayed and silent, and cuts them all', async () => {
    proxy.use(
      on('UpdateItem', { kind: 'silence', applied: false }),
      on('GetItem', { kind: 'delay', beforeMs: 600_000 }),
      on('PutItem', { kind: 'hold', after: new Promise(() => {}) }),
    );
    const Key = { jobId: { S: newId() } };
    const open = [
      client.send(beat(newId())),
      client.send(new GetItemCommand({ TableName, Key })),
      client.send(new PutItemCommand({ TableName, Item: Key })),
    ];
    const settled = Promise.allSettled(open);
    await expect.poll(() => Object.keys(proxy.injected).length).toBe(3);
    await proxy.stop();
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    await expect(client.send(beat(newId()))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
