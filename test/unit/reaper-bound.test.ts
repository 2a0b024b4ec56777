import { describe, expect, it } from 'vitest';
import type { RunningJob } from '../../lib/protocol/job.ts';
import type { Clock, Table } from '../../lib/protocol/ports.ts';
import { watch } from '../../lib/reaper/watch.ts';
import { recoveryBound } from '../../lib/settings/recovery-bound.ts';
import { resolveSettings, type Settings } from '../../lib/settings/settings.ts';
import { createHandChance } from '../../lib/testing/hand-chance.ts';
import { createHandClock } from '../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { atDepth } from '../support/depth.ts';
import { type SeededRandom, seededRandom } from '../support/random.ts';
import { beat, reaperStage } from '../support/reaper-stage.ts';

/** A table that takes its time over everything, within what the bound allows a sweep for its five round trips. */
const slow = (table: Table, clock: Clock, random: SeededRandom): Table => {
  const late =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await clock.sleep(random.integer(0, 30));
      const result = await call(...args);
      await clock.sleep(random.integer(0, 30));
      return result;
    };
  return {
    apply: late(table.apply),
    applyMany: late(table.applyMany),
    read: late(table.read),
    readMany: late(table.readMany),
    query: late(table.query),
    count: late(table.count),
  };
};

interface Play {
  readonly settings: Settings;
  /** Time from a worker's last sign of life to the reclaim of its job, less the job's own lease. */
  readonly delays: readonly number[];
  readonly watches: number;
}

/** Ten minutes of crashing workers under a schedule of reapers. */
async function play(options: {
  readonly seed: number;
  readonly settings: Readonly<Record<string, unknown>>;
  /** Time from one tick of the schedule to the next. */
  readonly tickGap: (random: SeededRandom) => number;
}): Promise<Play> {
  const random = seededRandom(options.seed);
  const clock = createHandClock();
  const memory = createMemoryTable();
  const chance = createHandChance();
  const settings = resolveSettings({ shards: 2, breakerThreshold: 1000, ...options.settings });
  const workers = reaperStage({ table: memory, clock, settings, chance, name: 'workers' });
  const end = clock.now() + 600_000;
  const delays: number[] = [];
  const alive = new Map<
    string,
    { job: RunningJob; lastSign: number; beatsLeft: number; nextBeatAt: number }
  >();
  const dead = new Map<string, { lastSign: number; leaseMs: number }>();
  let watches = 0;
  let nextTick = clock.now();
  let nextClaim = clock.now();
  let jobs = 0;

  const work = async () => {
    const now = clock.now();
    if (now >= nextTick) {
      nextTick = now + options.tickGap(random);
      const reaper = reaperStage({
        table: slow(memory, clock, random),
        clock,
        settings,
        chance,
        name: `reaper/${++watches}`,
      });
      void watch(reaper.deps, { deadlineAt: now + settings.watchMs });
    }
    if (now >= nextClaim && now < end) {
      nextClaim = now + random.integer(500, 20_000);
      const leaseMs = random.pick([10_000, 11_000, 30_000, 47_000]);
      const job = await workers.claim(`job-${++jobs}`, { leaseMs });
      alive.set(job.jobId, {
        job,
        lastSign: now,
        beatsLeft: random.integer(0, 8),
        nextBeatAt: now + leaseMs / 3,
      });
    }
    for (const [jobId, worker] of alive) {
      if (now < worker.nextBeatAt) continue;
      if (worker.beatsLeft === 0) {
        alive.delete(jobId);
        dead.set(jobId, { lastSign: worker.lastSign, leaseMs: worker.job.leaseMs });
        continue;
      }
      expect(await beat(workers.store, worker.job, now)).toMatchObject({ outcome: 'extended' });
      alive.set(jobId, {
        ...worker,
        lastSign: now,
        beatsLeft: worker.beatsLeft - 1,
        nextBeatAt: now + random.integer(worker.job.leaseMs / 4, worker.job.leaseMs / 3),
      });
    }
    for (const [jobId, { lastSign, leaseMs }] of dead) {
      if (memory.rows().find((row) => row.jobId === jobId)?.status !== 'pending') continue;
      dead.delete(jobId);
      delays.push(now - lastSign - leaseMs);
    }
  };

  while (clock.now() < end || (alive.size + dead.size > 0 && clock.now() < end + 600_000)) {
    await work();
    await clock.advance(50);
  }
  expect([...dead.keys()], `seed ${options.seed}: never taken back`).toEqual([]);
  return { settings, delays, watches };
}

const PLAYS = atDepth(5, 30);
const worst = (plays: readonly Play[]) => Math.max(...plays.flatMap((each) => each.delays));

describe('the time to recover a job whose worker died', () => {
  // The clock of these plays moves by 50 ms.
  const GRAIN = 50;

  it('is the lease, the skew and a second while reapers follow one another, at any jitter of the schedule', async () => {
    const plays: Play[] = [];
    for (let seed = 1; seed <= PLAYS; seed++)
      plays.push(
        await play({
          seed,
          settings: { watch: 'always' },
          // Two ticks at once, on the minute, or so late that the last reaper is about to leave.
          tickGap: (random) =>
            random.pick([0, 60_000, random.integer(1, 109_000), random.integer(100_000, 109_900)]),
        }),
      );
    const { watchedMs = 0 } = recoveryBound({ ...(plays[0] as Play).settings, leaseMs: 0 });
    expect(watchedMs).toBe(2000 + 1000);
    expect(worst(plays)).toBeLessThanOrEqual(watchedMs + GRAIN);
    expect(worst(plays)).toBeGreaterThanOrEqual(2000);
    expect(plays.flatMap((each) => each.delays).length).toBeGreaterThan(20 * PLAYS);
  });

  it('grows by no more than a tick comes after the last reaper left', async () => {
    for (let seed = 1; seed <= PLAYS; seed++) {
      const { settings, delays } = await play({
        seed,
        settings: { watch: 'always' },
        tickGap: (random) => random.integer(110_000, 120_000),
      });
      const { watchedMs = 0 } = recoveryBound({ ...settings, leaseMs: 0 });
      expect(Math.max(...delays)).toBeLessThanOrEqual(watchedMs + 120_000 - settings.watchMs + GRAIN);
    }
  });

  it('stays within the formula where reapers go home from an idle system', async () => {
    for (let seed = 1; seed <= PLAYS; seed++) {
      const { settings, delays } = await play({
        seed,
        settings: { watch: 'whileBusy' },
        tickGap: (random) => random.integer(30_000, 120_000),
      });
      const { worstMs } = recoveryBound({ ...settings, leaseMs: 0 });
      expect(Math.max(...delays)).toBeLessThanOrEqual(worstMs + GRAIN);
    }
  });

  it('stays within the formula where reapers sweep once a tick', async () => {
    for (let seed = 1; seed <= PLAYS; seed++) {
      const { settings, delays } = await play({
        seed,
        settings: { watch: 'never' },
        tickGap: (random) => random.integer(30_000, 120_000),
      });
      const { worstMs } = recoveryBound({ ...settings, leaseMs: 0 });
      expect(Math.max(...delays)).toBeLessThanOrEqual(worstMs + GRAIN);
    }
  });
});
