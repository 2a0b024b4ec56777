import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemRandom } from '../../lib/aws/clock.ts';
import { createJobsTable } from '../../lib/aws/dynamodb/create-jobs-table.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { StoreUnavailableError, ThrottledError } from '../../lib/protocol/errors.ts';
import { claimOf } from '../../lib/protocol/job.ts';
import type { JobStore, Table } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { readLeases } from '../../lib/protocol/store/lease-index.ts';
import { contractSettings, createHarness, type Harness } from '../contract/harness.ts';
import { describeOnEachEngine, uniqueName } from '../support/engines.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { on, readsIndex } from '../support/faults.ts';
import { newJob } from '../support/jobs.ts';
import { type JobsTable, openJobsTable } from '../support/jobs-table.ts';

describeOnEachEngine('the jobs table', (engine) => {
  let jobs: JobsTable;
  let proxy: FaultProxy;
  let direct: Harness;
  let table: Table;
  let store: JobStore;

  beforeAll(async () => {
    jobs = await openJobsTable(engine.endpoint);
    proxy = await startFaultProxy({ target: engine.endpoint });
    direct = createHarness({ table: jobs.at(), put: jobs.put });
    table = jobs.at({ endpoint: proxy.endpoint, maxAttempts: 1 });
    store = createJobStore({
      table,
      clock: direct.clock,
      random: systemRandom,
      settings: contractSettings,
      actor: 'w',
    });
  });
  afterAll(async () => {
    await proxy.stop();
    await jobs.close();
  });
  beforeEach(() => {
    proxy.use();
    proxy.tally.clear();
  });

  const claimAll = async (count: number) => {
    const requests = Array.from({ length: count }, () => direct.jobId()).map((jobId) => ({
      job: newJob(jobId),
      owner: `w/${jobId}`,
    }));
    const outcomes = await store.claimMany(requests);
    return { jobIds: requests.map(({ job }) => job.jobId), outcomes };
  };

  describe.each(['ProvisionedThroughputExceededException', 'ThrottlingException'] as const)(
    'throttled by %s',
    (code) => {
      it.each(['UpdateItem', 'GetItem', 'Query', 'BatchExecuteStatement'])(
        'says so of %s',
        async (operation) => {
          proxy.use(on(operation, { kind: 'throttle', code }));
          const request: Record<string, () => Promise<unknown>> = {
            UpdateItem: () => store.claim({ job: newJob(direct.jobId()), owner: 'w/1' }),
            GetItem: () => table.read('j1'),
            Query: () => table.query({ partition: 'r0', limit: 1 }),
            BatchExecuteStatement: async () => {
              const [first] = (await claimAll(3)).outcomes;
              if (first?.outcome === 'failed') throw first.error;
            },
          };
          await expect(request[operation]?.()).rejects.toThrow(ThrottledError);
          await expect(request[operation]?.()).rejects.toThrow(/DynamoDB throttled '\w+'.*shards/);
        },
      );
    },
  );

  it('is told apart from a count that was throttled', async () => {
    proxy.use(on('Query', { kind: 'throttle' }));
    await expect(table.count({ partition: 'r0', atMost: 1 })).rejects.toThrow(ThrottledError);
  });

  it('that cannot be reached, or does not exist, is unavailable, and the error says where to look', async () => {
    const nowhere = jobs.at({ endpoint: 'http://127.0.0.1:9', maxAttempts: 1 });
    await expect(nowhere.read('j1')).rejects.toThrow(StoreUnavailableError);
    await expect(nowhere.read('j1')).rejects.toThrow(/check the table's name, region and network/);
    const missing = createDynamoDbTable({ client: jobs.client, tableName: uniqueName('missing') });
    await expect(missing.read('j1')).rejects.toThrow(StoreUnavailableError);
    proxy.use(on('UpdateItem', { kind: 'serverError' }));
    await expect(store.claim({ job: newJob(direct.jobId()), owner: 'w/1' })).rejects.toThrow(
      StoreUnavailableError,
    );
  });

  describe('a batch', () => {
    it('does over by UpdateItem the statements that the engine could not read', async () => {
      proxy.use(
        on('BatchExecuteStatement', {
          kind: 'failSome',
          which: [1, 3],
          applied: false,
          code: 'ValidationError',
        }),
      );
      const { outcomes } = await claimAll(5);
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 5 }, () => 'claimed'));
      expect(proxy.counts).toEqual({ BatchExecuteStatement: 1, UpdateItem: 2 });
    });
  });

  it('moves nothing on the word of an index that lags behind', async () => {
    const job = await direct.claimed(direct.jobId());
    const read = () => readLeases(table, { shard: job.leaseShard, limit: 100 });
    const now = (await read()).entries.find(({ jobId }) => jobId === job.jobId);
    await direct.store.heartbeat(claimOf(job), job.leaseUntil + 60_000);
    proxy.use(on('Query', { kind: 'staleReply', byRequests: 1 }, { when: readsIndex }));
    const stale = (await read()).entries.find(({ jobId }) => jobId === job.jobId);
    if (stale === undefined) throw new Error('the old entry should be shown');
    expect(stale).toEqual(now);
    const action = { kind: 'quarantine', lapses: 5, lastError: 'x' } as const;
    expect(await store.reap(stale, action)).toEqual({ outcome: 'moved' });
    expect((await store.reapMany([stale, stale, stale].map((entry) => ({ entry, action }))))[0]).toEqual({
      outcome: 'moved',
    });
    expect(await direct.store.read(job.jobId)).toMatchObject({
      status: 'running',
      leaseUntil: job.leaseUntil + 60_000,
    });
  });

  it('is created once, with both indexes and its time to live', async () => {
    await createJobsTable(jobs.client, jobs.tableName);
    await expect(createJobsTable(jobs.client, '!')).rejects.toThrow();
  });
});
