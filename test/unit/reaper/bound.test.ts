import { describe, expect, it } from 'vitest';
import type { RunningJob } from '../../../lib/protocol/job.ts';
import type { Clock, Random, Table } from '../../../lib/protocol/ports.ts';
import { createEmbeddedReaper } from '../../../lib/reaper/embedded.ts';
import { recoveryBound } from '../../../lib/settings/recovery-bound.ts';
import { resolveSettings, type Settings } from '../../../lib/settings/settings.ts';
import { createFakeClock, type FakeClock } from '../../../lib/testing/fake-clock.ts';
import { createFakeRandom } from '../../../lib/testing/fake-random.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { atDepth } from '../../support/depth.ts';
import { type SeededRandom, seededRandom } from '../../support/random.ts';
import { type Delivery, reapStage } from '../../support/reap-stage.ts';
import { beat, reaperStage } from '../../support/reaper-stage.ts';

/** A table that takes its time over everything, within what the bound allows a sweep for its five round trips. */
const slow = (table: Table, clock: Clock, seeded: SeededRandom): Table => {
  const late =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await clock.sleep(seeded.integer(0, 30));
      const result = await call(...args);
      await clock.sleep(seeded.integer(0, 30));
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

/** What looks after the leases of a play. */
type Reapers = { readonly kind: 'embedded'; readonly processes: number } | ReapersOfChain;

interface ReapersOfChain {
  readonly kind: 'chain';
  /** Time from one tick of the schedule to the next. */
  readonly tickGap: (seeded: SeededRandom) => number;
  readonly delivery: (seeded: SeededRandom) => ReturnType<Delivery>;
  /** A planted bug: the delay is asked for so many times over. */
  readonly delayFactor?: number;
  /** A planted bug: this write never happens. */
  readonly loses?: string;
}

interface Play {
  readonly settings: Settings;
  /** Time from a worker's last sign of life to the reset of its job, less the job's own lease. */
  readonly delays: readonly number[];
}

const MINUTES = 10;

/** Ten minutes of crashing workers. */
async function play(options: {
  readonly seed: number;
  readonly reapers: Reapers;
  readonly settings?: Readonly<Record<string, unknown>>;
}): Promise<Play> {
  const seeded = seededRandom(options.seed);
  const clock = createFakeClock();
  const memory = createMemoryTable();
  const random = createFakeRandom();
  const settings = resolveSettings({
    shards: 2,
    minLeaseMs: 10_000,
    ...options.settings,
  });
  const workers = reaperStage({ table: memory, clock, settings, random, name: 'workers' });
  const end = clock.now() + MINUTES * 60_000;
  const delays: number[] = [];
  const alive = new Map<
    string,
    { job: RunningJob; lastSign: number; beatsLeft: number; nextBeatAt: number }
  >();
  const dead = new Map<string, { lastSign: number; leaseMs: number }>();
  const { tick, stop } = startReapers(options.reapers, {
    ...{ clock, random, seeded, settings, table: slow(memory, clock, seeded) },
  });
  let nextTick = clock.now();
  let nextClaim = clock.now();
  let jobs = 0;

  const work = async () => {
    const now = clock.now();
    if (now >= nextTick) nextTick = now + tick();
    if (now >= nextClaim && now < end) {
      nextClaim = now + seeded.integer(500, 20_000);
      const leaseMs = seeded.pick([10_000, 11_000, 30_000, 47_000]);
      const job = await workers.claim(`job-${++jobs}`, { leaseMs });
      alive.set(job.jobId, {
        job,
        lastSign: now,
        beatsLeft: seeded.integer(0, 8),
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
        nextBeatAt: now + seeded.integer(worker.job.leaseMs / 4, worker.job.leaseMs / 3),
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
  stop();
  expect([...dead.keys()], `seed ${options.seed}: never taken back`).toEqual([]);
  return { settings, delays };
}

/** Starts what looks after the leases. `tick` starts one by the schedule and says when the next comes. */
function startReapers(
  reapers: Reapers,
  parts: {
    readonly clock: FakeClock;
    readonly random: Random;
    readonly seeded: SeededRandom;
    readonly settings: Settings;
    readonly table: Table;
  },
) {
  const { seeded } = parts;
  if (reapers.kind === 'chain') {
    const { delayFactor = 1, loses } = reapers;
    const table: Table = {
      ...parts.table,
      apply: (write) =>
        write.transition === loses ? Promise.resolve({ applied: true, row: {} }) : parts.table.apply(write),
    };
    const chain = reapStage({ ...parts, table, delayFactor, delivery: () => reapers.delivery(seeded) });
    const tick = () => {
      void chain.tick();
      return reapers.tickGap(seeded);
    };
    return { tick, stop: () => {} };
  }
  const stages = Array.from({ length: reapers.processes }, (_, n) =>
    reaperStage({ ...parts, name: `reaper/${n}` }),
  );
  const embedded = stages.map(({ deps }) => createEmbeddedReaper(deps));
  for (const each of embedded) each.start();
  return {
    tick: () => Number.POSITIVE_INFINITY,
    stop: () => void Promise.all(embedded.map((each) => each.stop())),
  };
}

const worst = (plays: readonly Play[]) => Math.max(...plays.flatMap((each) => each.delays));

/** EventBridge Scheduler is precise to the minute. */
const onAnySchedule = (seeded: SeededRandom) => seeded.pick([60_000, seeded.integer(1, 120_000)]);

describe('the time to recover a job whose worker died', { timeout: 60_000 }, () => {
  // The clock of these plays moves by 50 ms.
  const GRAIN = 50;

  it('is the lease, the skew and two seconds while each reaper wakes the next, at any jitter of schedule and queue', async () => {
    const plays: Play[] = [];
    const seeds = atDepth(8, 15);
    for (let seed = 1; seed <= seeds; seed++)
      plays.push(
        await play({
          seed,
          reapers: {
            kind: 'chain',
            tickGap: onAnySchedule,
            // Half a second of delivery, and every tenth message twice.
            delivery: (seeded) => (seeded.chance(0.1) ? [0, 450] : [seeded.integer(0, 450)]),
          },
        }),
      );
    const { usualMs } = recoveryBound({ ...(plays[0] as Play).settings, leaseMs: 0 });
    expect(usualMs).toBe(2000 + 2000);
    expect(worst(plays)).toBeLessThanOrEqual(usualMs + GRAIN);
    expect(worst(plays)).toBeGreaterThanOrEqual(2000);
    expect(plays.flatMap((each) => each.delays).length).toBeGreaterThan(20 * seeds);
  });

  it.each<[string, Partial<ReapersOfChain>]>([
    ['messages are asked for twice as late', { delayFactor: 2 }],
    ['the promise is not written, so that no message counts', { loses: 'scheduleNext' }],
  ])('is broken when %s', async (_, bug) => {
    const reapers: Reapers = { kind: 'chain', tickGap: () => 60_000, delivery: () => [0], ...bug };
    const plays: Play[] = [];
    for (let seed = 1; seed <= 3; seed++) plays.push(await play({ seed, reapers }));
    const { usualMs } = recoveryBound({ ...(plays[0] as Play).settings, leaseMs: 0 });
    expect(worst(plays)).toBeGreaterThan(usualMs + GRAIN);
  });

  it('stays within the formula of a lost wake, where every second message never comes', async () => {
    const plays: Play[] = [];
    for (let seed = 1; seed <= atDepth(5, 10); seed++)
      plays.push(
        await play({
          seed,
          reapers: {
            kind: 'chain',
            tickGap: onAnySchedule,
            delivery: (seeded) => (seeded.chance(0.5) ? [] : [seeded.integer(0, 20_000)]),
          },
        }),
      );
    const { usualMs, worstMs } = recoveryBound({ ...(plays[0] as Play).settings, leaseMs: 0 });
    expect(worst(plays)).toBeLessThanOrEqual(worstMs + GRAIN);
    expect(worst(plays)).toBeGreaterThan(usualMs);
  });

  it('is shorter where reapers in processes sweep', async () => {
    const plays: Play[] = [];
    for (let seed = 1; seed <= atDepth(5, 10); seed++)
      plays.push(await play({ seed, reapers: { kind: 'embedded', processes: 1 + (seed % 3) } }));
    const { usualMs } = recoveryBound({ ...(plays[0] as Play).settings, leaseMs: 0 });
    expect(worst(plays)).toBeLessThanOrEqual(usualMs + GRAIN);
  });
});
