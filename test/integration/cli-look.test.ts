import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decideReap } from '../../lib/protocol/decisions/decide-reap.ts';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import { claimOf, type RunningJob } from '../../lib/protocol/job.ts';
import { runningShard } from '../../lib/protocol/shards.ts';
import { readLeases } from '../../lib/protocol/store/lease-index.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { createFakeClock, type FakeClock } from '../../lib/testing/fake-clock.ts';
import { commands } from '../../lib/tools/cli/commands.ts';
import { type CliSystem, createCliSystem, runInProcess } from '../support/cli.ts';
import { describeOnOneEngine } from '../support/engines.ts';
import { newJob } from '../support/jobs.ts';

interface Listed {
  jobs: { jobId: string; status: string; type: string }[];
  cursor?: string;
}

describeOnOneEngine('looking at jobs', (engine) => {
  let system: CliSystem;
  let clock: FakeClock;
  const claim = async (jobId: string, owner: string, type = 'email') => {
    const outcome = await system.store.claim({ job: newJob(jobId, { type }), owner });
    if (outcome.outcome !== 'claimed') throw new Error(`not claimed: ${outcome.outcome}`);
    return claimOf(outcome.job as RunningJob);
  };
  const ids = (listed: Listed) => listed.jobs.map((job) => job.jobId);

  beforeAll(async () => {
    clock = createFakeClock();
    system = await createCliSystem(engine, clock);
    for (let n = 0; n < 5; n++) await claim(`run-${n}`, `worker-a/${n}`);
    await clock.advance(60_000);
    await claim('fresh', 'worker-b/1', 'report');
    await system.store.schedule(
      newJob('later'),
      planDispatch(clock.now(), clock.now() + 3_600_000, defaultSettings),
    );
    const failing = await claim('broken', 'worker-a/9');
    await system.store.fail(failing, { errors: 1, lastError: 'Error: no such mailbox\n  at send' });
    const finishing = await claim('finished', 'worker-a/10');
    await system.store.checkpoint(finishing, { seq: 1, checkpoint: { page: 3 } });
    await system.store.complete(finishing, { sent: true });
  });
  afterAll(() => system.close());

  describe('ls', () => {
    it('lists unfinished jobs from the index, soonest lease end first', async () => {
      const run = await system.run(['ls']);
      expect(run.code).toBe(0);
      expect(run.stdout).toMatch(/run-0 +email +running +1 +1 min +worker-a\/0 +LAPSED 40 s ago/);
      expect(run.stdout).toMatch(/fresh +report +running .* lease ends in 20 s/);
      expect(run.stdout).toMatch(/later +report +pending .* due in 1 h/);
      expect(run.stdout).toContain('7 jobs');
      expect(run.stdout).not.toContain('finished');
    });

    it('filters by status, type, owner and age', async () => {
      const list = async (...args: string[]) =>
        ids((await system.run(['ls', '--json', ...args])).json<Listed>());
      expect(await list('--status', 'pending')).toEqual(['later']);
      expect(await list('--type', 'report')).toEqual(['fresh', 'later']);
      expect(await list('--owner', 'worker-b')).toEqual(['fresh']);
      expect(await list('--owner', 'worker-a/3')).toEqual(['run-3']);
      expect((await list('--status', 'running', '--older-than', '30s')).sort()).toEqual(
        [0, 1, 2, 3, 4].map((n) => `run-${n}`),
      );
    });

    it('goes on where the last page stopped, without gaps or repeats', async () => {
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const run = await system.run(['ls', '--json', '-n', '2', ...(cursor ? ['--cursor', cursor] : [])]);
        const page = run.json<Listed>();
        expect(page.jobs.length).toBeLessThanOrEqual(2);
        seen.push(...ids(page));
        cursor = page.cursor;
      } while (cursor !== undefined);
      expect(seen.toSorted()).toEqual(['fresh', 'later', 'run-0', 'run-1', 'run-2', 'run-3', 'run-4']);
    });

    it('lists failures, all of them or by type, without reading the table', async () => {
      const named = await system.run(['ls', '--status', 'failed', '--type', 'email']);
      expect(named.stdout).toMatch(/broken +email +failed .*Error: no such mailbox/);
      expect(named.stdout).not.toContain('at send');
      const all = await system.run(['ls', '--status', 'failed', '--json']);
      expect(ids(all.json<Listed>())).toEqual(['broken']);
      expect(all.stderr).toBe('');
    });

    it('refuses to scan for done jobs until told, and says what it costs', async () => {
      const refused = await system.run(['ls', '--status', 'done']);
      expect(refused.code).toBe(1);
      expect(refused.stderr).toMatch(/reads the whole table \(about \d+ rows?, \d+ read units?, .*\$/);
      expect(refused.stderr).toContain('--scan');
      const scanned = await system.run(['ls', '--status', 'done', '--scan', '--json']);
      expect(ids(scanned.json<Listed>())).toEqual(['finished']);
      expect(scanned.stderr).toContain('Scanning the table');
    });
  });

  describe('the life of a job', () => {
    it('tells the life of a job whose worker died: claim, reclaim, fence, the next claim, and what comes next', async () => {
      await claim('victim', 'worker-a/11');
      await clock.advance(22_001);
      const [entry] = (
        await readLeases(system.table, { shard: runningShard('victim', 8), limit: 50 })
      ).entries.filter((each) => each.jobId === 'victim');
      if (entry === undefined) throw new Error('victim is not in the index');
      const verdict = decideReap(entry, { now: clock.now(), random: 0, settings: defaultSettings });
      if (verdict.kind !== 'reclaim') throw new Error(`not reclaimed: ${verdict.kind}`);
      await system.store.reap(entry, verdict);
      const pending = await system.run(['show', 'victim']);
      expect(pending.stdout).toContain('its lease lapsed; the reaper reclaimed the job');
      expect(pending.stdout).toMatch(
        /→ in 1 min .*: if no worker has claimed it, the reaper sends another hint/,
      );
      await clock.advance(1000);
      const again = await system.store.claim({ job: { jobId: 'victim' }, owner: 'worker-c/1' });
      if (again.outcome !== 'claimed') throw new Error(again.outcome);
      await clock.advance(10_000);
      await system.store.heartbeat(claimOf(again.job), clock.now() + 20_000);
      await clock.advance(2000);
      const { stdout } = await system.run(['show', 'victim']);
      expect(stdout).toMatch(/#1 +claimed by worker-a\/11/);
      expect(stdout).toMatch(/#1 +its lease lapsed; the reaper reclaimed the job; ran again after 1 s/);
      expect(stdout).toMatch(/#1 +fenced: later writes of worker-a\/11 are refused/);
      expect(stdout).toMatch(/#2 +claimed by worker-c\/1/);
      expect(stdout).toMatch(/2 s ago +#2 +last heartbeat of worker-c\/1/);
      expect(stdout).toMatch(/→ in 18 s .*: its lease ends/);
      expect(stdout).toContain('given to the next worker (lapse 2 of 5)');
    });
  });

  it('says what to do when nothing answers at the endpoint', async () => {
    const run = await system.run(['ls'], {
      environment: { AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:1' },
    });
    expect(run.code).toBe(2);
    expect(run.stderr).toContain("start it with 'leasehold dev'");
  });

  it('says what to do when there is no such table', async () => {
    const run = await system.run(['ls', '--table', 'no-such-table']);
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('There is no such table');
  });
});

describe('the command line as a whole', () => {
  it('has at most 15 commands and the three of limits, prints help without arguments and suggests the near command', async () => {
    expect((await runInProcess([])).stdout).toContain('Operators:');
    const ofLimits = ['pause', 'resume', 'limit'];
    expect(commands.filter(({ name }) => !ofLimits.includes(name)).length).toBeLessThanOrEqual(15);
    expect(commands.filter(({ name }) => ofLimits.includes(name))).toHaveLength(3);
    const run = await runInProcess(['shwo', 'x']);
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('Did you mean show?');
  });
});
