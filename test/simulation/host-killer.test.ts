import { describe, expect, it } from 'vitest';
import { atDepth } from '../support/depth.ts';
import { QUIET } from './fault-kinds.ts';
import type { PlantedBug } from './planted-bug.ts';
import { plantedBugs } from './planted-bugs.ts';
import { hostKiller } from './scenario.ts';
import { Simulation } from './simulate.ts';

/** How the jobs of one schedule end, and how many lapses the unluckiest neighbor has. */
async function livesOf(seed: number, bug: PlantedBug) {
  const simulation = new Simulation({ seed, scenario: hostKiller, bug: { ...bug, rates: QUIET } });
  while (simulation.step()) await new Promise<void>((resolve) => setImmediate(resolve));
  const rows = [...simulation.server.rows.values()];
  const neighbors = rows.filter(({ jobId }) => String(jobId).startsWith('neighbor'));
  return {
    violation: simulation.result().violation,
    killer: simulation.server.rows.get('killer'),
    failed: neighbors.filter(({ status }) => status === 'failed').length,
    done: neighbors.filter(({ status }) => status === 'done').length,
  };
}

describe('a job that kills its whole host', () => {
  it('is quarantined, and its nine neighbors are done', async () => {
    for (let seed = 1; seed <= atDepth(8, 500); seed++) {
      const lives = await livesOf(seed, { name: 'none', breaks: /^$/ });
      expect(lives, `seed ${seed}`).toMatchObject({ violation: undefined, failed: 0, done: 9 });
      expect(lives.killer).toMatchObject({ status: 'failed', crashes: 0 });
    }
  });

  it('would take its neighbors along without the wait after the second lapse', async () => {
    const bug = plantedBugs.find(({ name }) => name === 'a job that is lost again runs again at once');
    if (bug === undefined) throw new Error('the bug is gone');
    const { failed, violation } = await livesOf(1, bug);
    expect(failed > 0 || violation !== undefined).toBe(true);
  });
});
