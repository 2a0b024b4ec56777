import { beatIntervalMs } from '../../settings/heartbeat-timing.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Watching } from './operations-bill.ts';
import { type Plan, type PlanSettings, planFor, type Workload } from './plan.ts';
import type { Prices } from './prices.ts';

export interface LeaseChoice {
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly plan: Plan;
}

const LEASES_MS = [10, 20, 30, 60, 120, 300, 600, 1800, 3600].map((seconds) => seconds * 1000);

export const withLease = <S extends Pick<Settings, 'leaseMs' | 'heartbeatMs'>>(
  settings: S,
  leaseMs: number,
): S => ({ ...settings, leaseMs, heartbeatMs: beatIntervalMs(leaseMs, settings) });

export function leaseChoices(
  workload: Workload,
  settings: PlanSettings,
  prices: Prices,
  watching: Watching = {},
): LeaseChoice[] {
  const leases = [...new Set([...LEASES_MS, settings.leaseMs])].sort((a, b) => a - b);
  return leases.map((leaseMs) => {
    const chosen = withLease(settings, leaseMs);
    return { leaseMs, heartbeatMs: chosen.heartbeatMs, plan: planFor(workload, chosen, prices, watching) };
  });
}
