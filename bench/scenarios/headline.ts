import type { Headlined } from '../report/results.ts';
import type { System } from '../systems/system.ts';
import { crashRecovery } from './crash-recovery.ts';
import { faults } from './faults.ts';
import { killedCelery } from './killed-celery.ts';
import { killedCell } from './killed-cell.ts';
import { atLatency } from './latency.ts';
import { poison } from './poison.ts';
import { type Bench, onAll } from './scenario.ts';

/** What the README's table needs, and nothing else: one round where the other parts take several. */
export async function headline(bench: Bench, leasehold: System): Promise<Headlined> {
  const own = { ...bench, keep: () => {} };
  return {
    killedCell: await killedCell(own, leasehold, ['SIGKILL'], [0]),
    killedCelery: await killedCelery(own),
    atLatency: await atLatency(own, ({ concurrency, step }) => concurrency === 100 && step === 2),
    poison: await poison({ ...own, quick: true }),
    crashDefault: await crashRecovery(own, 'default', onAll),
    faults: await faults({ ...own, trials: 1 }),
  };
}
