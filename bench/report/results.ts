import type { BesideTrouble } from '../scenarios/beside-trouble.ts';
import type { BundleCost } from '../scenarios/bundles.ts';
import type { CrashRecovery } from '../scenarios/crash-recovery.ts';
import type { Fleet } from '../scenarios/fleet.ts';
import type { HeartbeatPrice } from '../scenarios/heartbeat-price.ts';
import type { Heartbeats } from '../scenarios/heartbeats.ts';
import type { InitCost } from '../scenarios/init-cost.ts';
import type { KilledCell } from '../scenarios/killed-cell.ts';
import type { LambdaHostCost } from '../scenarios/lambda-host.ts';
import type { AtLatency } from '../scenarios/latency.ts';
import type { MassReclaim } from '../scenarios/mass-reclaim.ts';
import type { OwnCost } from '../scenarios/null-engine-cost.ts';
import type { Outlive } from '../scenarios/outlive.ts';
import type { Poison } from '../scenarios/poison.ts';
import type { ReclaimRequests } from '../scenarios/reclaim-requests.ts';
import type { ScaleSimulation } from '../scenarios/scale-simulation.ts';
import type { Scaling } from '../scenarios/scaling.ts';
import type { SteadyState } from '../scenarios/steady-state.ts';
import type { WireCost } from '../scenarios/wire-cost.ts';
import type { Zombie } from '../scenarios/zombie.ts';
import type { Spread } from '../support/statistics.ts';
import type { Profile } from '../systems/system.ts';

type BySystem<T> = Readonly<Record<string, T>>;

/** Everything that a run measured. A scenario that was left out keeps the figures of an earlier run. */
export interface Results {
  readonly machine?: Machine;
  readonly systems?: readonly SystemUnderTest[];
  readonly skipped?: Readonly<Record<string, string>>;
  readonly crashDefault?: BySystem<CrashRecovery>;
  readonly crashFast?: BySystem<CrashRecovery>;
  readonly killedCell?: readonly KilledCell[];
  readonly killedCelery?: Spread;
  readonly init?: readonly InitCost[];
  readonly fleet?: readonly Fleet[];
  readonly besideTrouble?: readonly BesideTrouble[];
  readonly massReclaim?: BySystem<readonly MassReclaim[]>;
  readonly steadyState?: BySystem<readonly SteadyState[]>;
  readonly atLatency?: BySystem<readonly AtLatency[]>;
  readonly heartbeats?: BySystem<Heartbeats>;
  readonly zombie?: BySystem<Zombie>;
  readonly poison?: BySystem<Poison>;
  readonly outliveSleep?: BySystem<Outlive>;
  readonly outliveBurn?: BySystem<Outlive>;
  readonly ownCost?: readonly OwnCost[];
  readonly lambdaHost?: readonly LambdaHostCost[];
  readonly wireCost?: readonly WireCost[];
  readonly scaling?: Scaling;
  readonly scaleSimulation?: readonly ScaleSimulation[];
  readonly heartbeatPrice?: readonly HeartbeatPrice[];
  readonly bundles?: readonly BundleCost[];
  readonly reclaimRequests?: readonly ReclaimRequests[];
}

interface Machine {
  readonly date: string;
  readonly cpu: string;
  readonly cores: number;
  readonly node: string;
  /** Load of the machine when the run began and ended: above the number of cores, timings are not to be trusted. */
  readonly loadBefore: number;
  readonly loadAfter: number;
  readonly quick: boolean;
  /** The scenarios of the run, when not all. */
  readonly only?: string;
  readonly minutes: number;
}

interface SystemUnderTest {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly store: string;
  readonly settings: Readonly<Record<Profile, string>>;
}
