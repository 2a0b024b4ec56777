import { defaultSettings } from '../../lib/settings/settings.ts';
import type { BesideTrouble } from '../scenarios/beside-trouble.ts';
import type { BundleCost } from '../scenarios/bundles.ts';
import type { CrashRecovery } from '../scenarios/crash-recovery.ts';
import type { Faults } from '../scenarios/faults.ts';
import type { Fleet } from '../scenarios/fleet.ts';
import type { HeartbeatPrice } from '../scenarios/heartbeat-price.ts';
import type { Heartbeats } from '../scenarios/heartbeats.ts';
import type { Hung } from '../scenarios/hung.ts';
import type { InitCost } from '../scenarios/init-cost.ts';
import type { KilledCell } from '../scenarios/killed-cell.ts';
import type { LambdaHostCost } from '../scenarios/lambda-host.ts';
import type { AtLatency } from '../scenarios/latency.ts';
import type { Limits } from '../scenarios/limits.ts';
import type { MassReclaim } from '../scenarios/mass-reclaim.ts';
import type { OwnCost } from '../scenarios/null-engine-cost.ts';
import type { Outlive } from '../scenarios/outlive.ts';
import type { PartName } from '../scenarios/parts.ts';
import type { Poison } from '../scenarios/poison.ts';
import type { ReclaimRequests } from '../scenarios/reclaim-requests.ts';
import type { ScaleSimulation } from '../scenarios/scale-simulation.ts';
import type { Scaling } from '../scenarios/scaling.ts';
import type { WireCost } from '../scenarios/wire-cost.ts';
import type { Zombie } from '../scenarios/zombie.ts';
import type { Spread } from '../support/statistics.ts';
import type { Profile } from '../systems/system.ts';

type BySystem<T> = Readonly<Record<string, T>>;

/** Everything that was measured. A part that was left out of a run keeps its figures of an earlier one. */
export interface Results {
  readonly machine?: Machine;
  readonly parts?: Readonly<Partial<Record<PartName, MeasuredPart>>>;
  readonly systems?: readonly SystemUnderTest[];
  readonly skipped?: Readonly<Record<string, string>>;
  /** The README's own figures. */
  readonly headline?: Headlined;
  readonly crashDefault?: BySystem<CrashRecovery>;
  readonly crashFast?: BySystem<CrashRecovery>;
  readonly killedCell?: readonly KilledCell[];
  readonly killedCelery?: Spread;
  readonly init?: InitCost;
  readonly fleet?: readonly Fleet[];
  readonly besideTrouble?: readonly BesideTrouble[];
  readonly faults?: BySystem<Faults>;
  readonly hung?: BySystem<Hung>;
  readonly massReclaim?: BySystem<readonly MassReclaim[]>;
  readonly atLatency?: BySystem<readonly AtLatency[]>;
  readonly heartbeats?: BySystem<Heartbeats>;
  readonly zombie?: BySystem<Zombie>;
  readonly poison?: BySystem<Poison>;
  readonly outliveSleep?: BySystem<Outlive>;
  readonly outliveBurn?: BySystem<Outlive>;
  readonly ownCost?: readonly OwnCost[];
  readonly lambdaHost?: readonly LambdaHostCost[];
  readonly limits?: Limits;
  readonly wireCost?: readonly WireCost[];
  readonly scaling?: Scaling;
  readonly scaleSimulation?: readonly ScaleSimulation[];
  readonly heartbeatPrice?: readonly HeartbeatPrice[];
  readonly bundles?: readonly BundleCost[];
  readonly reclaimRequests?: readonly ReclaimRequests[];
}

export type Headlined = Pick<
  Results,
  'killedCell' | 'killedCelery' | 'atLatency' | 'poison' | 'crashDefault' | 'faults'
>;

/** Of the last run. */
interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly node: string;
}

/** When a part was last measured, and what else the machine did. */
export interface MeasuredPart {
  readonly date: string;
  /** Load of the machine before and after: well above the number of cores, timings are only good as ratios. */
  readonly loadBefore?: number;
  readonly loadAfter?: number;
  readonly minutes?: number;
  /** The systems that took part, when not all: the others' figures are older. */
  readonly systems?: string;
}

interface SystemUnderTest {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly store: string;
  readonly settings: Readonly<Record<Profile, string>>;
}

/** The lease of Leasehold's figures where it is not today's default, so that they are not told as of today. */
export function earlierLease(
  figures: BySystem<{ readonly leaseMs?: number }> | undefined,
): string | undefined {
  const leaseMs = figures?.leasehold?.leaseMs ?? defaultSettings.leaseMs;
  return leaseMs === defaultSettings.leaseMs ? undefined : `a lease of ${leaseMs / 1000} s`;
}

export const titleOf = (results: Results, name: string): string =>
  results.systems?.find((system) => system.name === name)?.title ?? name;

/** A row for each system that was measured. */
export const rowsOf = <T>(
  results: Results,
  measured: BySystem<T> | undefined,
  row: (value: T, title: string, name: string) => readonly string[],
) => Object.entries(measured ?? {}).map(([name, value]) => row(value, titleOf(results, name), name));
