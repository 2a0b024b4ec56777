import { type CostLine, IDLE_POLLS_A_MONTH, SECONDS_A_MONTH } from './bill.ts';
import type { Prices } from './prices.ts';

/** What is deployed besides the default pool. */
export interface PoolLoad {
  /** Pools of functions. */
  readonly functions: number;
  /** Hours that the containers of each Fargate pool run in a month. */
  readonly containerHours: readonly number[];
}

/** test/cdk/pools.test.ts counts them: of every pool, and what scales containers. @internal */
export const POOL_ALARM_METRICS = { each: 3, scaling: 2 } as const;
/** A tick reads at most a thousand running jobs of each shard, which takes 30 units. */
const MOST_READ = 1000;
const UNITS_A_JOB = 0.03;
const EMPTY_QUERY_UNITS = 0.5;

export function poolBill(
  { functions, containerHours }: PoolLoad,
  load: { readonly shards: number; readonly running: number; readonly reaperIntervalMs: number },
  prices: Prices,
): CostLine[] {
  const scaled = containerHours.length;
  const alarms = POOL_ALARM_METRICS.each * (functions + scaled) + POOL_ALARM_METRICS.scaling * scaled;
  const polls = functions * IDLE_POLLS_A_MONTH.limited;
  const ticks = (1000 * SECONDS_A_MONTH) / load.reaperIntervalMs;
  const readPerShard = Math.min(MOST_READ, load.running / load.shards) * UNITS_A_JOB;
  const read = scaled === 0 ? 0 : ticks * load.shards * Math.max(EMPTY_QUERY_UNITS, readPerShard);
  const asked = ticks * scaled;
  const hours = containerHours.reduce((sum, each) => sum + each, 0);
  const line = (group: CostLine['group'], what: string, amount: number, unit: string, price: number) => ({
    group,
    what,
    amount,
    unit,
    dollars: amount * price,
  });
  return [
    line('operations', 'alarms of pools', alarms, 'metrics', prices.perAlarmMetric),
    line('operations', 'containers wanted', scaled, 'metrics', prices.perCustomMetric),
    line('operations', 'idle polls of pools', polls, 'requests', prices.perMillionQueueRequests / 1e6),
    line(
      'coordination',
      'reaper: running jobs of pools',
      read,
      'read units',
      prices.perMillionReadUnits / 1e6,
    ),
    line('coordination', 'reaper: queues of pools', asked, 'requests', prices.perMillionQueueRequests / 1e6),
    line('compute', 'containers (Fargate)', hours, 'hours', prices.perContainerHour),
  ].filter(({ amount }) => amount > 0);
}
