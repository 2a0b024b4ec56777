import { availableEngines, type DynamoDbEngineName } from '../../lib/tools/dev/engines/dynamodb-engine.ts';
import type { Results } from '../report/results.ts';
import { besideTrouble } from './beside-trouble.ts';
import { bundles } from './bundles.ts';
import { crashRecovery } from './crash-recovery.ts';
import { faults } from './faults.ts';
import { fleet } from './fleet.ts';
import { headline } from './headline.ts';
import { heartbeatPrice } from './heartbeat-price.ts';
import { heartbeats } from './heartbeats.ts';
import { hung } from './hung.ts';
import { initCost } from './init-cost.ts';
import { killedCelery } from './killed-celery.ts';
import { killedCell } from './killed-cell.ts';
import { lambdaHost } from './lambda-host.ts';
import { atLatency } from './latency.ts';
import { limits } from './limits.ts';
import { massReclaim } from './mass-reclaim.ts';
import { ownCost } from './null-engine-cost.ts';
import { outlive } from './outlive.ts';
import type { PartName } from './parts.ts';
import { poison } from './poison.ts';
import { reclaimRequests } from './reclaim-requests.ts';
import { scaleSimulation } from './scale-simulation.ts';
import { scaling } from './scaling.ts';
import type { Bench } from './scenario.ts';
import { wireCost } from './wire-cost.ts';
import { zombie } from './zombie.ts';

/** Crowds with the lease that docs/operating/scale.md advises for them. */
const CROWDS = [
  { jobs: 10_000, leaseMs: 20_000 },
  { jobs: 100_000, leaseMs: 30_000 },
  { jobs: 1_000_000, leaseMs: 60_000 },
];

/** What each part measures. */
export function scenariosOf(
  bench: Bench,
  { long }: { readonly long: boolean },
): Record<PartName, () => Promise<Results>> {
  const { quick, say } = bench;
  const leasehold = bench.systems.find(({ name }) => name === 'leasehold');
  const sizes = {
    finished: [0, 1000, 10_000, ...(quick ? [] : [100_000]), ...(long ? [1_000_000] : [])],
    healthy: [0, 1000, 10_000, ...(quick ? [] : [100_000])],
    lapsed: [0, 1000, 2500, ...(quick ? [] : [5000, 10_000])],
  };
  return {
    headline: async () => (leasehold === undefined ? {} : { headline: await headline(bench, leasehold) }),
    crash: async () => ({
      crashFast: await crashRecovery(bench, 'fast'),
      crashDefault: quick ? undefined : await crashRecovery(bench, 'default'),
    }),
    cells: async () => ({
      killedCell: leasehold === undefined ? undefined : await killedCell(bench, leasehold),
      killedCelery: await killedCelery(bench),
    }),
    fleet: async () =>
      leasehold === undefined
        ? {}
        : {
            fleet: await fleet(bench, leasehold),
            besideTrouble: await besideTrouble(bench, leasehold),
          },
    faults: async () => ({ faults: await faults(bench) }),
    hung: async () => ({ hung: await hung(bench) }),
    init: async () => ({ init: await initCost(bench) }),
    mass: async () => ({ massReclaim: await massReclaim(bench, quick ? [3000] : [10_000, 30_000]) }),
    latency: async () => ({ atLatency: await atLatency(bench) }),
    own: async () =>
      leasehold === undefined
        ? {}
        : {
            ownCost: await ownCost(leasehold, quick ? { runs: 3, jobs: 1000 } : { runs: 5, jobs: 3000 }, say),
          },
    lambda: async () => ({ lambdaHost: await lambdaHost(quick ? 2 : 5, say) }),
    limits: async () => (leasehold === undefined ? {} : { limits: await limits(bench, leasehold) }),
    savings: async () => ({
      bundles: await bundles(quick ? 5 : 15),
      reclaimRequests: await reclaimRequests(quick ? 500 : 2000),
    }),
    scaling: async () => ({ scaling: await scaling(sizes, say) }),
    outlive: async () => ({
      outliveSleep: await outlive(bench, 'sleep'),
      outliveBurn: quick ? undefined : await outlive(bench, 'burn'),
    }),
    // Counted, and mostly waiting: none of them minds the others.
    counts: async () => {
      const measured = await Promise.all([heartbeats(bench), zombie(bench), poison(bench)]);
      return { heartbeats: measured[0], zombie: measured[1], poison: measured[2] };
    },
    units: async () => ({
      wireCost: (await onEngines((engine) => wireCost(engine))).flat(),
      heartbeatPrice: await onEngines((engine) => heartbeatPrice(engine)),
      scaleSimulation: scaleSimulation(CROWDS),
    }),
  };
}

async function onEngines<T>(measure: (engine: DynamoDbEngineName) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (const each of await availableEngines()) if (each.available) results.push(await measure(each.engine));
  return results;
}
