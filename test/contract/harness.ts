import { randomUUID } from 'node:crypto';
import { systemRandom } from '../../lib/aws/clock.ts';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import { type Claim, claimOf, type Job, type LeaseEntry, type RunningJob } from '../../lib/protocol/job.ts';
import type { ClaimRequest, JobStore, Table } from '../../lib/protocol/ports.ts';
import { parseJob, parseLeaseEntry } from '../../lib/protocol/rows/parse-row.ts';
import { failedShard, pendingShard, runningShard } from '../../lib/protocol/shards.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { readLeases } from '../../lib/protocol/store/lease-index.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { createFakeClock, type FakeClock } from '../../lib/testing/fake-clock.ts';
import { newJob } from '../support/jobs.ts';

/** A table as the suites need it: with a way to write rows that no transition would write. */
export interface TableUnderTest {
  readonly table: Table;
  put(row: Row): Promise<void>;
}

/** Many shards: suites share a table, and each reads only the shard of its own job. */
export const contractSettings = resolveSettings({ shards: 64 });

/** A store on the table under test with a fake clock, and short ways to bring jobs where a test wants them. */
export interface Harness extends TableUnderTest {
  readonly clock: FakeClock;
  readonly store: JobStore;
  jobId(): string;
  claimed(jobId: string, owner?: string): Promise<RunningJob>;
  /** Brings a new job into a status by transitions of worker `w/1`, and returns its row. */
  prepared(status: Job['status'], jobId: string): Promise<Job>;
  /** What the lease index tells of a job, undefined when it is not in there. */
  leaseOf(jobId: string): Promise<LeaseEntry | undefined>;
  isListedAsFailure(jobId: string): Promise<boolean>;
  dispatch(): ReturnType<typeof planDispatch>;
}

export function createHarness({ table, put }: TableUnderTest): Harness {
  const clock = createFakeClock();
  const store = createJobStore({
    table,
    clock,
    random: systemRandom,
    settings: contractSettings,
    actor: 'tester',
  });
  const dispatch = () => planDispatch(clock.now(), clock.now(), contractSettings);
  const claimed = async (jobId: string, owner = 'w/1') => claimedJob(store, { job: newJob(jobId), owner });
  const endings: Record<Job['status'], (claim: Claim) => Promise<unknown>> = {
    running: async () => {},
    pending: (claim) => store.release(claim, { errors: 0, releases: 1, dispatch: dispatch() }),
    done: (claim) => store.complete(claim, { ok: true }),
    failed: (claim) => store.fail(claim, { errors: 1, lastError: 'boom' }),
    cancelled: async (claim) => {
      await store.cancel(claim.jobId);
      await store.cancelRunning(claim);
    },
  };
  return {
    table,
    put,
    clock,
    store,
    dispatch,
    claimed,
    jobId: () => `j-${randomUUID()}`,
    async prepared(status, jobId) {
      await endings[status](claimOf(await claimed(jobId)));
      return parseJob((await table.read(jobId)) ?? {});
    },
    async leaseOf(jobId) {
      const shards = [runningShard, pendingShard].map((shard) => shard(jobId, contractSettings.shards));
      const pages = await Promise.all(shards.map((shard) => allEntries(table, shard)));
      return pages.flat().find((entry) => entry.jobId === jobId);
    },
    async isListedAsFailure(jobId) {
      const partition = failedShard(jobId.replace('bad:', ''), contractSettings.shards);
      const page = await table.query({ partition, limit: 1000, newestFirst: true });
      return page.rows.some((row) => row.jobId === jobId);
    },
  };
}

/** Every readable entry of a shard, page by page. */
export async function allEntries(table: Table, shard: string, limit = 100): Promise<LeaseEntry[]> {
  const entries: LeaseEntry[] = [];
  let page = await readLeases(table, { shard, limit });
  entries.push(...page.entries);
  while (page.cursor !== undefined) {
    page = await readLeases(table, { shard, limit, cursor: page.cursor });
    entries.push(...page.entries);
  }
  return entries;
}

/** Claims, and insists on having been granted the lease. */
export async function claimedJob(store: JobStore, request: ClaimRequest): Promise<RunningJob> {
  const outcome = await store.claim(request);
  if (outcome.outcome !== 'claimed') throw new Error(`the claim came out as '${outcome.outcome}'`);
  return outcome.job;
}

/** The entry that the index would show of this row. */
export const entryOf = (row: Row): LeaseEntry => parseLeaseEntry(row);
