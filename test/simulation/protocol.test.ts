import { describe, expect, it } from 'vitest';
import { atDepth, isDeep } from '../support/depth.ts';
import { minimise, story } from './minimise.ts';
import { createTotals, type Outcome, outcomeOf } from './outcome.ts';
import type { PlantedBug } from './planted-bug.ts';
import { plantedBugs, redundantFences } from './planted-bugs.ts';
import { seedsFrom } from './seeds.ts';
import { type SimulationResult, simulate, simulateMany } from './simulate.ts';
import { simulateInThreads } from './simulate-in-threads.ts';

/** `LEASEHOLD_SCHEDULES=100000 npx vitest run test/simulation` attacks for longer; `LEASEHOLD_SEED` moves elsewhere. */
const FULL = Number(process.env.LEASEHOLD_SCHEDULES ?? atDepth(30, 10_000));
const BRIEF = Number(process.env.LEASEHOLD_SCHEDULES ?? atDepth(400, 100_000));
const CROWDS = Number(process.env.LEASEHOLD_SCHEDULES ?? atDepth(15, 10_000));
const LIMITED = Number(process.env.LEASEHOLD_SCHEDULES ?? atDepth(80, 20_000));
/** Other tests keep the other cores busy, and each thread loads everything. */
const threads = isDeep ? undefined : 1;
const FIRST_SEED = Number(process.env.LEASEHOLD_SEED ?? 1);

describe('the real protocol, worker and reaper on virtual time', () => {
  it(`keep every promise through ${FULL} schedules of faults`, { timeout: 3_600_000 }, async () => {
    const totals = createTotals();
    let broken: SimulationResult | undefined;
    await simulateMany(seedsFrom(FIRST_SEED, FULL), {}, (result) => {
      totals.add(outcomeOf(result));
      if (result.violation !== undefined) broken = result;
      return broken !== undefined;
    });
    if (broken !== undefined) throw new Error(story(await minimise({ seed: broken.seed })));
    expect(totals.schedules).toBe(FULL);
    expect(totals.faults).toBeGreaterThan(FULL * 5);
    console.info(`full, one thread: ${totals}`);
  });

  it.each([
    ['brief', BRIEF],
    ['crowd', CROWDS],
    ['limited', LIMITED],
  ] as const)(
    'keep every promise through %s schedules, %i of them on all cores',
    {
      timeout: 3_600_000,
    },
    async (size, count) => {
      const totals = createTotals();
      let broken: Outcome | undefined;
      await simulateInThreads(seedsFrom(FIRST_SEED, count), { size, threads }, (outcome) => {
        totals.add(outcome);
        if (outcome.violation !== undefined) broken = outcome;
        return broken !== undefined;
      });
      if (broken !== undefined) throw new Error(story(await minimise({ seed: broken.seed, size })));
      expect(totals.schedules).toBe(count);
      expect(totals.faults).toBeGreaterThan(count * 3);
      expect(totals.writes).toBeGreaterThan(count * 3);
      console.info(`${size}, all cores: ${totals}`);
    },
  );

  it.each(['full', 'brief'] as const)(
    'give the same %s schedule for the same seed, event for event',
    async (size) => {
      const [first, second] = [
        await simulate({ seed: 7, size, traced: true }),
        await simulate({ seed: 7, size, traced: true }),
      ];
      expect(first.timeline.length).toBeGreaterThan(10);
      expect(second).toEqual(first);
    },
  );

  it.each(isDeep ? (['full', 'brief'] as const) : (['brief'] as const))(
    'give the same %s schedules in a thread, after whichever others it ran',
    async (size) => {
      const seeds = [...seedsFrom(FIRST_SEED, atDepth(15, 500))];
      const elsewhere = new Map<number, Outcome>();
      await simulateInThreads(seeds, { size, threads: 2 }, (outcome) => {
        elsewhere.set(outcome.seed, outcome);
        return undefined;
      });
      const here = new Map<number, Outcome>();
      await simulateMany(seeds.reverse(), { size }, (result) => {
        here.set(result.seed, outcomeOf(result));
        return undefined;
      });
      expect(elsewhere).toEqual(here);
    },
  );

  it('are told of a violation by its seed, in whichever thread it happened', async () => {
    const bug = plantedBugs.find(({ name }) => name === 'a claim does not raise the attempt');
    const broken: Outcome[] = [];
    await simulateInThreads(seedsFrom(1, 1000), { size: 'brief', bug: bug?.name ?? '' }, (outcome) => {
      if (outcome.violation !== undefined) broken.push(outcome);
      return broken.length > 0;
    });
    const [first] = broken;
    expect(first?.violation).toMatch(bug?.breaks ?? /^$/);
    const again = await simulate({ seed: first?.seed ?? 0, size: 'brief', bug });
    expect(again.violation).toBe(first?.violation);
  });

  it.each(redundantFences)('hold though one of two fences is down: $name', async (bug) => {
    const broken: string[] = [];
    for (const [size, count] of [['full', atDepth(3, 500)] as const, ['brief', atDepth(40, 2000)] as const])
      await simulateMany(seedsFrom(FIRST_SEED, count), { size, bug }, ({ seed, violation }) => {
        if (violation !== undefined) broken.push(`${size}, seed ${seed}: ${violation}`);
        return undefined;
      });
    expect(broken).toEqual([]);
  });
});

/** Their tales are short. */
const size = 'brief';

describe('a failing schedule', () => {
  it('is told with only the faults that it needs', async () => {
    const bug = plantedBugs.find(({ name }) => name.includes('own success after a lost reply'));
    if (bug === undefined) throw new Error('the bug is gone');
    const tales = await Promise.all(
      (await breakingLate(bug)).map(async (seed) => ({
        whole: await simulate({ seed, size, bug }),
        told: await minimise({ seed, size, bug }),
      })),
    );
    const faultsOf = ({ faultsInjected }: SimulationResult) => faultsInjected.length;
    for (const { whole, told } of tales) {
      expect(told.violation).toBeDefined();
      expect(faultsOf(told)).toBeLessThan(faultsOf(whole));
      expect(story(told)).toMatch(/FAULT (replyLost|requestLost|requestLate).*VIOLATION/s);
    }
    // One lost or late message of the right kind is all that it takes, once the write that it belongs to comes about. Not of every
    // schedule can so much be taken out: where a fault goes, others come about in its place.
    const lengths = tales.map(({ told }) => faultsOf(told)).sort((a, b) => a - b);
    expect(lengths[lengths.length >> 1]).toBeLessThanOrEqual(4);
  });
});

/** Seeds that break only after a good many faults, most of which have nothing to do with it. */
async function breakingLate(bug: PlantedBug): Promise<readonly number[]> {
  const found: number[] = [];
  await simulateMany(seedsFrom(1, 2000), { size, bug }, ({ seed, violation, faultsInjected }) => {
    if (violation !== undefined && faultsInjected.length >= 8) found.push(seed);
    return found.length === 3;
  });
  return found;
}
