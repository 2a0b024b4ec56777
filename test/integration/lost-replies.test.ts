import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemRandom } from '../../lib/aws/clock.ts';
import { StoreUnavailableError } from '../../lib/protocol/errors.ts';
import type { RunningJob } from '../../lib/protocol/job.ts';
import type { JobStore, Table } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { type JobTransitionName, jobTransitions } from '../../lib/protocol/transitions.ts';
import { arrange, drivers } from '../contract/drivers.ts';
import { contractSettings, createHarness, entryOf, type Harness } from '../contract/harness.ts';
import { describeOnOneEngine } from '../support/engines.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { on } from '../support/faults.ts';
import { newJob } from '../support/jobs.ts';
import { type JobsTable, openJobsTable } from '../support/jobs-table.ts';

/** Each write below is applied, its reply is dropped on the wire, and the SDK sends it again. */
describeOnOneEngine('a write whose reply was lost', (engine) => {
  let jobs: JobsTable;
  let proxy: FaultProxy;
  /** Reaches the table directly: for bringing rows where a test wants them, and for looking. */
  let direct: Harness;
  let behindProxy: Table;
  let store: JobStore;

  beforeAll(async () => {
    jobs = await openJobsTable(engine.endpoint);
    proxy = await startFaultProxy({ target: engine.endpoint });
    direct = createHarness({ table: jobs.at(), put: jobs.put });
  });
  afterAll(async () => {
    await proxy.stop();
    await jobs.close();
  });
  beforeEach(() => {
    proxy.use();
    proxy.tally.clear();
    // A client stops repeating after some fifty lost replies: each test has one of its own.
    behindProxy = jobs.at({ endpoint: proxy.endpoint, isPatient: true });
    store = createJobStore({
      table: behindProxy,
      clock: direct.clock,
      random: systemRandom,
      settings: contractSettings,
      actor: 'unlucky',
    });
  });

  const names = Object.keys(jobTransitions) as JobTransitionName[];
  /** Operators' verbs are tried at the level of the store, where their proof is. */
  const operatorVerbs: Partial<Record<JobTransitionName, (jobId: string) => Promise<{ outcome: string }>>> = {
    cancel: (jobId) => store.cancel(jobId),
    requestCancel: (jobId) => store.cancel(jobId),
    takeBack: (jobId) => store.takeBack(jobId),
    revive: (jobId) => store.revive(jobId),
  };

  it.each(names.flatMap((name) => jobTransitions[name].from.map((from) => [name, from] as const)))(
    '%s from %s is recognized as its own success, and stands once',
    async (name, from) => {
      const twin = await arrange(direct, name, from);
      const at = await arrange(direct, name, from);
      const verb = operatorVerbs[name];
      const run = verb
        ? async (_: Harness, { jobId }: typeof at) => (await verb(jobId)).outcome === 'written'
        : drivers[name];
      const unlucky = { ...direct, store, table: behindProxy };
      expect(await run(unlucky, twin)).toBe(true);
      proxy.tally.clear();
      proxy.use(on('UpdateItem', { kind: 'dropReply' }, { nth: 1 }));
      expect(await run(unlucky, at)).toBe(true);
      expect(proxy.tally.of('UpdateItem')).toMatchObject({ requests: 2, forwarded: 2 });
      const [unhurt, hurt] = await Promise.all([twin, at].map(({ jobId }) => direct.table.read(jobId)));
      expect(counters(hurt)).toEqual(counters(unhurt));
      const { to } = jobTransitions[name];
      expect(hurt?.status).toBe(to === 'same' ? from : to);
    },
  );

  describe('in a batch', () => {
    const claimAll = async (count: number): Promise<RunningJob[]> => {
      const requests = Array.from({ length: count }, () => direct.jobId()).map((jobId) => ({
        job: newJob(jobId),
        owner: `w/${jobId}`,
      }));
      const claims = await store.claimMany(requests);
      return claims.flatMap((claim) => (claim.outcome === 'claimed' ? [claim.job] : []));
    };
    const lose = () => {
      proxy.tally.clear();
      proxy.use(on('BatchExecuteStatement', { kind: 'dropReply' }, { nth: 1 }));
    };

    it('is recognised for each claim', async () => {
      lose();
      const claimed = await claimAll(5);
      expect(claimed.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1]);
      expect(proxy.tally.of('BatchExecuteStatement')).toMatchObject({ requests: 2, forwarded: 2 });
    });

    it('is recognized for each reclaim, whose lapse is counted once, and not for what another reaper did', async () => {
      const claimed = await claimAll(5);
      const rows = await Promise.all(claimed.map(({ jobId }) => direct.table.read(jobId)));
      const verdicts = rows.map((row) => ({
        entry: entryOf(row ?? {}),
        action: {
          kind: 'reclaim',
          lapses: 1,
          lastError: 'worker lease expired',
          dispatch: direct.dispatch(),
        } as const,
      }));
      const [first] = verdicts;
      if (first === undefined) throw new Error('five claims should have been granted');
      await direct.store.reap(first.entry, first.action);
      lose();
      const outcomes = await store.reapMany(verdicts);
      expect(outcomes.map(({ outcome }) => outcome)).toEqual([
        'moved',
        'written',
        'written',
        'written',
        'written',
      ]);
      for (const { jobId } of claimed)
        expect(await direct.store.read(jobId)).toMatchObject({ status: 'pending', lapses: 1, attempt: 1 });
    });
  });

  it('for good is an error whose outcome is unknown, and the claim can be released', async () => {
    const jobId = direct.jobId();
    proxy.use(on('UpdateItem', { kind: 'dropReply' }));
    await expect(store.claim({ job: newJob(jobId), owner: 'w/lost' })).rejects.toThrow(StoreUnavailableError);
    expect(proxy.tally.of('UpdateItem').requests).toBe(3);
    proxy.use();
    expect(await store.releaseUnknown(jobId, 'w/lost', direct.dispatch())).toEqual({ outcome: 'written' });
    expect(await direct.store.read(jobId)).toMatchObject({ status: 'pending', attempt: 1, releases: 1 });
    expect(await store.releaseUnknown(direct.jobId(), 'w/never', direct.dispatch())).toEqual({
      outcome: 'lost',
    });
  });

  it('for good in a batch fails each row of it, and no other', async () => {
    const requests = Array.from({ length: 30 }, () => direct.jobId()).map((jobId) => ({
      job: newJob(jobId),
      owner: `w/${jobId}`,
    }));
    const firstBatch = requests[0]?.job.jobId;
    proxy.use(
      on(
        'BatchExecuteStatement',
        { kind: 'reset' },
        {
          when: ({ body }) => JSON.stringify(body).includes(String(firstBatch)),
        },
      ),
    );
    const outcomes = await store.claimMany(requests);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      ...Array.from({ length: 25 }, () => 'failed'),
      ...Array.from({ length: 5 }, () => 'claimed'),
    ]);
    expect(outcomes[0]).toMatchObject({ error: { code: 'STORE_UNAVAILABLE' } });
  });
});

const counters = (row: Readonly<Record<string, unknown>> | undefined) =>
  Object.fromEntries(
    [
      'status',
      'attempt',
      'errors',
      'crashes',
      'releases',
      'dispatches',
      'checkpointSeq',
      'cancelRequested',
    ].map((name) => [name, row?.[name]]),
  );
