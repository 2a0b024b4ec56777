import { describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/protocol/ports.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { LEADER_KEY } from '../../../lib/wire/table.ts';
import { chainStage } from '../../support/chain-stage.ts';
import { seededRandom } from '../../support/random.ts';

/**
 * Thirty jobs whose leases end at once, with a breaker that moves 25 a sweep: what is left is too few for the next reaper to
 * know by itself that it was one event. None of them may be charged a crash, whoever dies when.
 */
const JOBS = 30;
const settings = {
  shards: 2,
  breakerThreshold: 10,
  breakerPerSweep: 25,
  minSweepIntervalMs: 500,
  maxRunning: 100,
};

const never = () => new Promise<never>(() => {});

/** The table as a process sees it that dies at its n-th request: before that is applied, or after. */
function dyingAt(n: number, isApplied: boolean, table: Table) {
  let requests = 0;
  const dying =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      requests += 1;
      if (requests < n) return call(...args);
      if (requests === n && isApplied) await call(...args);
      return never();
    };
  const seen: Table = {
    apply: dying(table.apply),
    applyMany: dying(table.applyMany),
    read: dying(table.read),
    readMany: dying(table.readMany),
    query: dying(table.query),
    count: dying(table.count),
  };
  return { table: seen, hasDied: () => requests >= n };
}

async function lapsedJobs() {
  const memory = createMemoryTable();
  const clock = createHandClock();
  const workers = chainStage({ table: memory, clock, settings });
  for (let i = 0; i < JOBS; i++) await workers.claim(`job-${i}`, { maxCrashes: 1 });
  await clock.advance(32_000);
  return { memory, clock };
}

type Scene = Awaited<ReturnType<typeof lapsedJobs>>;

const ends = ({ memory }: Scene) => {
  const jobs = memory.rows().filter(({ jobId }) => jobId !== LEADER_KEY);
  return [...new Set(jobs.map(({ status, crashes }) => `${status} ${crashes}`))];
};

/** The first reaper dies at its n-th request; the schedule starts the next. False when it got to its end. */
async function dieAndGoOn(scene: Scene, n: number, isApplied: boolean, alter = (table: Table) => table) {
  const { memory, clock } = scene;
  const first = dyingAt(n, isApplied, alter(memory));
  for (const table of [first.table, alter(memory)]) {
    void chainStage({ table, clock, settings }).tick();
    for (let second = 0; second < 5; second++) await clock.advance(1000);
  }
  return first.hasDied();
}

/** A planted bug: the breaker's state is kept nowhere. */
const forgetting = (table: Table): Table => ({
  ...table,
  apply: (write) =>
    write.transition === 'keepBreaker' ? Promise.resolve({ applied: true, row: {} }) : table.apply(write),
});

describe('a mass lapse that outlasts its reaper', () => {
  it.each([false, true])(
    'charges nobody, at whichever request the first one dies (applied: %s)',
    async (isApplied) => {
      let n = 1;
      for (; ; n++) {
        const scene = await lapsedJobs();
        const hasDied = await dieAndGoOn(scene, n, isApplied);
        expect(ends(scene), `died at request ${n}`).toEqual(['pending 0']);
        if (!hasDied) break;
      }
      expect(n).toBeGreaterThan(10);
    },
  );

  it('would be charged to those that are left if the state were not kept', async () => {
    const charged: number[] = [];
    for (let n = 1; n < 30; n++) {
      const scene = await lapsedJobs();
      await dieAndGoOn(scene, n, true, forgetting);
      if (ends(scene).some((end) => end !== 'pending 0')) charged.push(n);
    }
    expect(charged.length).toBeGreaterThan(0);
  });

  it('charges nobody when wakes are lost, doubled, late and early, and reapers are throttled', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = seededRandom(seed);
      const scene = await lapsedJobs();
      const { memory, clock } = scene;
      const delivery = () =>
        random.pick([[], [0], [0, random.integer(0, 5000)], [random.integer(0, 20_000)], [-2000]]);
      const one = dyingAt(random.integer(1, 30), random.chance(0.5), memory);
      const stages = [
        chainStage({ table: one.table, clock, settings, delivery, concurrency: random.integer(1, 2) }),
        chainStage({ table: memory, clock, settings, delivery, concurrency: random.integer(1, 2) }),
      ];
      // Two chains at once, each with its own ticks.
      for (let minute = 0; minute < 5; minute++)
        for (const stage of stages) {
          void stage.tick();
          for (let part = 0; part < 3; part++) await clock.advance(random.integer(0, 10_000));
        }
      expect(ends(scene), `seed ${seed}`).toEqual(['pending 0']);
    }
  });
});
