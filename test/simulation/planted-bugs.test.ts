import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { atDepth, isDeep } from '../support/depth.ts';
import { bugsByFile, plantedBugs, redundantFences } from './planted-bugs.ts';
import { seedsFrom } from './seeds.ts';
import { type SimulationResult, simulateMany } from './simulate.ts';

/** Every planted bug is found within so many schedules of either size; most need a handful. */
const within = { full: 1000, brief: 4000, crowd: 2000, limited: 4000 } as const;
/** With the same faults and the bug taken out, so many schedules hold. */
const SOUND = atDepth(3, 100);
/** Brief schedules find every one of them in less time; the deep run lets full ones look for them, too. */
const sizes = isDeep ? (['brief', 'full'] as const) : (['brief'] as const);

describe.each(sizes)('%s schedules find a planted bug', (usual) => {
  it.each(plantedBugs)('$name', async (bug) => {
    const size = bug.size ?? usual;
    let caught: SimulationResult | undefined;
    const first = size === (bug.size ?? 'brief') ? (bug.searchFrom ?? 1) : 1;
    await simulateMany(seedsFrom(first, within[size]), { size, bug }, (result) => {
      if (result.violation !== undefined && bug.breaks.test(result.violation)) caught ??= result;
      return caught !== undefined;
    });
    expect(caught?.violation).toMatch(bug.breaks);

    const { name, breaks, rates = {} } = bug;
    const sound: string[] = [];
    await simulateMany(seedsFrom(1, SOUND), { size, bug: { name, breaks, rates } }, (result) => {
      if (result.violation !== undefined) sound.push(`seed ${result.seed}: ${result.violation}`);
      return sound.length > 0;
    });
    expect(sound).toEqual([]);
  });
});

it('has its file counted in the docs, with one of its bugs named', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/internals/proof.md'), 'utf8');
  const rows = [
    ...page.matchAll(/^\| \[.+\]\(\.\.\/\.\.\/test\/simulation\/(\w+)-bugs\.ts\) \| (\d+) \| (.+) \|$/gm),
  ];
  expect(rows.map(([, file, count]) => [file, Number(count)])).toEqual(
    Object.entries(bugsByFile).map(([file, bugs]) => [file, bugs.length]),
  );
  const named = Object.values(bugsByFile).map((bugs, i) => bugs.filter(({ name }) => name === rows[i]?.[3]));
  expect(named.map((bugs) => bugs.length)).toEqual(rows.map(() => 1));
  expect(page).toContain('Four more must *not* show');
  expect(redundantFences).toHaveLength(4);
});
