import { describe, expect, it } from 'vitest';
import { minimise, story } from './minimise.ts';
import type { PlantedBug } from './planted-bug.ts';
import { plantedBugs, redundantFences } from './planted-bugs.ts';
import { seedsFrom } from './seeds.ts';
import { type SimulationResult, simulate, simulateMany } from './simulate.ts';

/** `LEASEHOLD_SCHEDULES=100000 npx vitest run test/simulation` attacks for longer; `LEASEHOLD_SEED` moves elsewhere. */
const SCHEDULES = Number(process.env.LEASEHOLD_SCHEDULES ?? 1000);
const FIRST_SEED = Number(process.env.LEASEHOLD_SEED ?? 1);

describe('the real protocol, worker and reaper on virtual time', () => {
  it(`keep every promise through ${SCHEDULES} schedules of faults`, { timeout: 3_600_000 }, async () => {
    const totals = { schedules: 0, events: 0, virtualHours: 0, faults: 0, writes: 0 };
    let broken: SimulationResult | undefined;
    await simulateMany(seedsFrom(FIRST_SEED, SCHEDULES), {}, (result) => {
      totals.schedules++;
      totals.events += result.events;
      totals.virtualHours += result.virtualMs / 3_600_000;
      totals.faults += result.faultsInjected.length;
      totals.writes += Object.values(result.writes).reduce((sum, each) => sum + each, 0);
      if (result.violation !== undefined) broken = result;
      return broken !== undefined;
    });
    if (broken !== undefined) throw new Error(story(await minimise({ seed: broken.seed })));
    expect(totals.schedules).toBe(SCHEDULES);
    expect(totals.faults).toBeGreaterThan(SCHEDULES * 5);
    console.info(
      `simulated ${totals.schedules} schedules: ${Math.round(totals.virtualHours)} hours, ${totals.faults} faults, ${totals.writes} writes, ${totals.events} events`,
    );
  });

  it('give the same schedule for the same seed, event for event', async () => {
    const [first, second] = [
      await simulate({ seed: 7, traced: true }),
      await simulate({ seed: 7, traced: true }),
    ];
    expect(first.timeline.length).toBeGreaterThan(20);
    expect(second).toEqual(first);
  });

  it.each(redundantFences)('hold though one of two fences is down: $name', async (bug) => {
    const broken: string[] = [];
    await simulateMany(seedsFrom(FIRST_SEED, 150), { bug }, ({ seed, violation }) => {
      if (violation !== undefined) broken.push(`seed ${seed}: ${violation}`);
      return undefined;
    });
    expect(broken).toEqual([]);
  });
});

describe('a failing schedule', () => {
  it('is told with only the faults that it needs', async () => {
    const bug = plantedBugs.find(({ name }) => name.includes('own success after a lost reply'));
    if (bug === undefined) throw new Error('the bug is gone');
    const seed = await firstBreakingLate(bug);
    const whole = await simulate({ seed, bug });
    const told = await minimise({ seed, bug });
    expect(told.violation).toBeDefined();
    expect(told.faultsInjected.length).toBeLessThan(whole.faultsInjected.length);
    // One lost or late message of the right kind is all that it takes.
    expect(told.faultsInjected.length).toBeLessThanOrEqual(3);
    expect(story(told)).toMatch(/FAULT (replyLost|requestLate).*VIOLATION/s);
  });
});

/** A seed that breaks only after a good many faults, most of which have nothing to do with it. */
async function firstBreakingLate(bug: PlantedBug): Promise<number> {
  let found: number | undefined;
  await simulateMany(seedsFrom(1, 500), { bug }, ({ seed, violation, faultsInjected }) => {
    if (violation !== undefined && faultsInjected.length >= 8) found ??= seed;
    return found !== undefined;
  });
  if (found === undefined) throw new Error(`no schedule breaks: ${bug.name}`);
  return found;
}
