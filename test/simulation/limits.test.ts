import { expect, it } from 'vitest';
import { atDepth } from '../support/depth.ts';
import { QUIET } from './fault-kinds.ts';
import { Simulation } from './simulate.ts';

/** A place is handed over with the job's end, or found free by the waiting job's own hint. */
const LONGEST_IDLE_MS = 3000;

it('leaves no place empty for more than 3 s next to a waiting job while nothing goes wrong', async () => {
  const quiet = { name: 'none', breaks: /^$/, rates: QUIET };
  let waited = 0;
  for (let seed = 1; seed <= atDepth(30, 2000); seed++) {
    const simulation = new Simulation({ seed, size: 'limited', bug: quiet });
    if (simulation.scenario.pause !== undefined) continue;
    while (simulation.step()) await new Promise<void>((resolve) => setImmediate(resolve));
    expect(simulation.result().violation, `seed ${seed}`).toBeUndefined();
    expect(simulation.judge.limits.longestIdleMs, `seed ${seed}`).toBeLessThanOrEqual(LONGEST_IDLE_MS);
    waited += simulation.judge.counts.leave ?? 0;
  }
  expect(waited).toBeGreaterThan(100);
});
