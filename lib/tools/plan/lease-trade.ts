import type { Settings } from '../../settings/settings.ts';
import { declarations } from '../../settings/settings.ts';
import type { Watching } from './operations-bill.ts';
import { type Plan, type PlanSettings, planFor, type Workload } from './plan.ts';
import type { Prices } from './prices.ts';

/** What another lease length would cost, and how fast it would recover. */
export interface LeaseChoice {
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly plan: Plan;
}

/** The lease lengths that people choose from. */
const LEASES_MS = [10, 15, 30, 60, 120, 300, 600, 1800, 3600].map((seconds) => seconds * 1000);

/** The settings with another lease, beating every third of it. */
export const withLease = <S extends Pick<Settings, 'leaseMs' | 'heartbeatMs'>>(
  settings: S,
  leaseMs: number,
): S => ({ ...settings, leaseMs, heartbeatMs: Math.floor(leaseMs / 3) });

/** The same workload under every lease length, the chosen one among them. */
export function leaseChoices(
  workload: Workload,
  settings: PlanSettings,
  prices: Prices,
  watching: Watching = {},
): LeaseChoice[] {
  const leases = [...new Set([...LEASES_MS, settings.leaseMs])].sort((a, b) => a - b);
  return leases.map((leaseMs) => {
    const chosen = leaseMs === settings.leaseMs ? settings : withLease(settings, leaseMs);
    return { leaseMs, heartbeatMs: chosen.heartbeatMs, plan: planFor(workload, chosen, prices, watching) };
  });
}

/** Points for a plot: leases on a logarithmic axis from the shortest to the longest allowed. */
export function leaseCurve(
  workload: Workload,
  settings: PlanSettings,
  prices: Prices,
  points: number,
): LeaseChoice[] {
  const { min, max } = declarations.leaseMs;
  return Array.from({ length: points }, (_, i) => {
    const leaseMs = Math.round(min * (max / min) ** (i / (points - 1)));
    const chosen = withLease(settings, leaseMs);
    return { leaseMs, heartbeatMs: chosen.heartbeatMs, plan: planFor(workload, chosen, prices) };
  });
}
