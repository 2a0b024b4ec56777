import {
  BatchExecuteStatementCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTable } from '../support/create-table.ts';
import { describeOnOneEngine, dynamoDbClient, uniqueName } from '../support/engines.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { type FaultRule, on, readsIndex } from '../support/faults.ts';

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

  it('resets a connection before the write is applied', async () => {
    const jobId = newId();
    proxy.use(on('UpdateItem', { kind: 'reset' }, { nth: 1 }));
    await expect(client.send(beat(jobId))).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(await beats(jobId)).toBe(0);
    expect(proxy.tally.of('UpdateItem')).toMatchObject({ requests: 1, forwarded: 0 });
  });

  it('applies a write and drops its reply', async () => {
    const jobId = newId();
    proxy.use(on('UpdateItem', { kind: 'dropReply' }, { nth: 1 }));
    await expect(client.send(beat(jobId))).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(await beats(jobId)).toBe(1);
    await client.send(beat(jobId));
    expect(await beats(jobId)).toBe(2);
  });

  it('makes the SDK repeat a write whose reply was dropped, so that it is applied twice', async () => {
    const jobId = newId();
    const persistent = dynamoDbClient(proxy.endpoint, { maxAttempts: 3 });
    proxy.use(on('UpdateItem', { kind: 'dropReply' }, { nth: 1 }));
    await persistent.send(beat(jobId));
    persistent.destroy();
    expect(await beats(jobId)).toBe(2);
    expect(proxy.counts.UpdateItem).toBe(2);
  });

  it.each([
    [true, 1],
    [false, 0],
  ])('stays silent until the client gives up (applied: %s)', async (applied, expected) => {
    const jobId = newId();
    proxy.use(on('UpdateItem', { kind: 'silence', applied }));
    const patience = new AbortController();
    const sent = client.send(beat(jobId), { abortSignal: patience.signal });
    await expect.poll(() => proxy.injected.silence).toBe(1);
    await expect.poll(() => proxy.tally.of('UpdateItem').forwarded).toBe(expected);
    patience.abort();
    await expect(sent).rejects.toMatchObject({ name: 'AbortError' });
    expect(await beats(jobId)).toBe(expected);
  });

  it.each(['ProvisionedThroughputExceededException', 'ThrottlingException'] as const)(
    'throttles with %s and applies nothing',
    async (code) => {
      const jobId = newId();
      proxy.use(on('UpdateItem', { kind: 'throttle', code }));
      await expect(client.send(beat(jobId))).rejects.toMatchObject({
        name: code,
        $metadata: { httpStatusCode: 400 },
      });
      expect(await beats(jobId)).toBe(0);
    },
  );

  it.each([
    [500, false, 0],
    [503, true, 1],
  ])('answers %i with the write applied: %s', async (status, applied, expected) => {
    const jobId = newId();
    proxy.use(on('UpdateItem', { kind: 'serverError', status, applied }));
    await expect(client.send(beat(jobId))).rejects.toMatchObject({ $metadata: { httpStatusCode: status } });
    expect(await beats(jobId)).toBe(expected);
  });

  it('holds a request back before it is applied', async () => {
    const jobId = newId();
    const gate = Promise.withResolvers<void>();
    proxy.use(on('UpdateItem', { kind: 'hold', before: gate.promise }, { nth: 1 }));
    const held = client.send(beat(jobId));
    await expect.poll(() => proxy.injected.hold).toBe(1);
    await client.send(beat(jobId));
    expect(await beats(jobId)).toBe(1);
    gate.resolve();
    await held;
    expect(await beats(jobId)).toBe(2);
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

  it('delays by the given time at least', async () => {
    proxy.use(on('GetItem', { kind: 'delay', beforeMs: 60, afterMs: 60 }));
    const from = performance.now();
    await client.send(new GetItemCommand({ TableName, Key: { jobId: { S: 'any' } } }));
    expect(performance.now() - from).toBeGreaterThan(115);
  });

  it('shifts the Date of a reply and leaves the reply itself alone', async () => {
    proxy.use(on('*', { kind: 'shiftDate', byMs: 3_600_000 }));
    let date = 0;
    client.middlewareStack.add(
      (next) => async (args) => {
        const result = await next(args);
        const { headers } = result.response as { headers: Record<string, string> };
        date = Date.parse(headers.date ?? '');
        return result;
      },
      { step: 'deserialize', priority: 'low' },
    );
    await client.send(beat(newId()));
    expect(Math.abs(date - Date.now() - 3_600_000)).toBeLessThan(60_000);
  });

  describe('with a batch of statements', () => {
    const run = async (applied: boolean, which: readonly number[]) => {
      const jobs = [newId(), newId(), newId(), newId()];
      for (const jobId of jobs) await direct.send(beat(jobId));
      proxy.use(on('BatchExecuteStatement', { kind: 'failSome', which, applied, code: 'ThrottlingError' }));
      // The last one is refused by the engine itself: its verdict must stay in its place.
      const Statements = jobs.map((jobId, n) => ({
        Statement: `UPDATE "${TableName}" SET beats = 7 WHERE jobId = ? AND beats = ?`,
        Parameters: [{ S: jobId }, { N: n === 3 ? '99' : '1' }],
      }));
      const { Responses } = await client.send(new BatchExecuteStatementCommand({ Statements }));
      const codes = Responses?.map((response) => response.Error?.Code);
      return { codes, after: await Promise.all(jobs.map(beats)) };
    };

    const [failed, refused] = ['ThrottlingError', 'ConditionalCheckFailed'];

    it('fails some without applying them', async () => {
      const { codes, after } = await run(false, [1]);
      expect(codes).toEqual([undefined, failed, undefined, refused]);
      expect(after).toEqual([7, 1, 7, 1]);
    });

    it('fails some although they were applied', async () => {
      const { codes, after } = await run(true, [0, 2]);
      expect(codes).toEqual([failed, undefined, failed, refused]);
      expect(after).toEqual([7, 7, 7, 1]);
    });

    it('fails all without asking the engine', async () => {
      const { codes, after } = await run(false, [0, 1, 2, 3]);
      expect(codes).toEqual([failed, failed, failed, failed]);
      expect(after).toEqual([1, 1, 1, 1]);
      expect(proxy.tally.of('BatchExecuteStatement').forwarded).toBe(0);
    });
  });

  it('answers an index query with what an earlier one found, though the moment asked for has moved on', async () => {
    const shard = uniqueName('s');
    const lapsed = async (now: number) => {
      const { Items } = await client.send(
        new QueryCommand({
          TableName,
          IndexName: 'byLease',
          KeyConditionExpression: 'leaseShard = :shard AND leaseUntil <= :now',
          ExpressionAttributeValues: { ':shard': { S: shard }, ':now': { N: String(now) } },
        }),
      );
      return Items?.length;
    };
    const put = (jobId: string, until: number) =>
      direct.send(
        new PutItemCommand({
          TableName,
          Item: { jobId: { S: jobId }, leaseShard: { S: shard }, leaseUntil: { N: String(until) } },
        }),
      );
    proxy.use(on('Query', { kind: 'staleReply', byRequests: 1 }, { when: readsIndex }));
    await put(newId(), 10);
    expect(await lapsed(20)).toBe(1);
    await put(newId(), 15);
    expect(await lapsed(21)).toBe(1);
    expect(await lapsed(22)).toBe(2);
    proxy.use();
    expect(await lapsed(23)).toBe(2);
  });

  it('lets a rule see the body and count its own matches', async () => {
    const [mine, other] = [newId(), newId()];
    const isMine: Parameters<typeof on>[2] = {
      when: ({ body }) => JSON.stringify(body.Key).includes(mine),
      nth: 2,
    };
    proxy.use(on('UpdateItem', { kind: 'throttle' }, isMine));
    await client.send(beat(mine));
    await client.send(beat(other));
    await expect(client.send(beat(mine))).rejects.toThrow('by the fault proxy');
    await client.send(beat(mine));
    expect(proxy.injected).toEqual({ throttle: 1 });
  });

  it('makes the same random choices from the same seed, and others from another', async () => {
    const choices = async (seed: number) => {
      const seeded = await startFaultProxy({
        target: engine.endpoint,
        seed,
        rules: [on('GetItem', { kind: 'throttle' }, { chance: 0.5 })],
      });
      const one = dynamoDbClient(seeded.endpoint, once);
      const outcomes: boolean[] = [];
      for (let n = 0; n < 24; n++) {
        const read = one.send(new GetItemCommand({ TableName, Key: { jobId: { S: 'any' } } }));
        outcomes.push(
          await read.then(
            () => true,
            () => false,
          ),
        );
      }
      one.destroy();
      await seeded.stop();
      return outcomes;
    };
    const first = await choices(7);
    expect(await choices(7)).toEqual(first);
    expect(await choices(8)).not.toEqual(first);
    expect(new Set(first).size).toBe(2);
  });

  it('tells a test whose rule does not fit the request', async () => {
    const misdirected: FaultRule = on('UpdateItem', { kind: 'failSome', which: [0], applied: false });
    proxy.use(misdirected);
    await expect(client.send(beat(newId()))).rejects.toThrow(
      'The fault failSome fits batches, not UpdateItem',
    );
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
