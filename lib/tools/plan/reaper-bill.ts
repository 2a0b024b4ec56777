import type { Settings } from '../../settings/settings.ts';
import { MAX_HINT_DELAY_MS, REAPER_MEMORY_MB } from '../../wire/queues.ts';
import { type CostLine, IDLE_POLLS_A_MONTH, SECONDS_A_MONTH } from './bill.ts';
import type { Prices } from './prices.ts';

export type ReaperSettings = Pick<
  Settings,
  'leaseMs' | 'heartbeatMs' | 'minLeaseMs' | 'skewMs' | 'reaperIntervalMs'
>;

const MEMORY_GB = REAPER_MEMORY_MB / 1024;
/** Measured on a warm function that found nothing lapsed. */
const INVOCATION_SECONDS = 0.15;
/** Cost of an empty eventually consistent query, and of a consistent read of the reaper's row. */
const QUERY_UNITS = 0.5;
const ROW_READ_UNITS = 1;
const REQUESTS_A_WAKE = 3;
/** SQS rounds delays up to whole seconds and delivers a little later. */
const WAKE_LATENESS_MS = 800;
/** A tick logs one line of metrics; a wake that finds nothing logs none. */
const LOGGED_BYTES = 500;
const GB = 1e9;

/** Sweeps per minute, from wakes and from the schedule. @internal */
export function sweepsAMinute(settings: ReaperSettings, isBusy: boolean) {
  const { leaseMs, heartbeatMs, minLeaseMs, skewMs, reaperIntervalMs } = settings;
  const unseen = Math.min(minLeaseMs + skewMs, MAX_HINT_DELAY_MS);
  // With many healthy jobs, the next heartbeat due belongs to the lease that ends first.
  const pause = isBusy ? Math.min(unseen, leaseMs - heartbeatMs + skewMs) : unseen;
  return { wakes: 60_000 / (pause + WAKE_LATENESS_MS), ticks: 60_000 / reaperIntervalMs };
}

export function reaperBill(
  shards: number,
  settings: ReaperSettings,
  isBusy: boolean,
  prices: Prices,
): CostLine[] {
  const minutes = SECONDS_A_MONTH / 60;
  const rates = sweepsAMinute(settings, isBusy);
  const [wakes, ticks] = [rates.wakes * minutes, rates.ticks * minutes];
  const invocations = wakes + ticks;
  const gbSeconds = invocations * INVOCATION_SECONDS * MEMORY_GB;
  // Every sweep reads the running shards; pending shards are read once per tick, and as often by wakes.
  const queries = invocations * shards + 2 * ticks * shards;
  const readUnits = invocations * ROW_READ_UNITS + queries * QUERY_UNITS;
  const messages = wakes * REQUESTS_A_WAKE;
  const logged = (ticks * LOGGED_BYTES) / GB;
  const line = (what: string, amount: number, unit: string, dollars: number): CostLine => ({
    group: 'coordination',
    what: `reaper: ${what}`,
    amount,
    unit,
    dollars,
  });
  return [
    line('Lambda time', gbSeconds, 'GB-s', gbSeconds * prices.perGbSecond),
    line('invocations', invocations, 'invocations', (invocations * prices.perMillionInvocations) / 1e6),
    line('index and row reads', readUnits, 'read units', (readUnits * prices.perMillionReadUnits) / 1e6),
    line('row writes', wakes, 'write units', (wakes * prices.perMillionWriteUnits) / 1e6),
    line('wake messages', messages, 'requests', (messages * prices.perMillionQueueRequests) / 1e6),
    line(
      'idle polls of the wake queue',
      IDLE_POLLS_A_MONTH.shrinking,
      'requests',
      (IDLE_POLLS_A_MONTH.shrinking * prices.perMillionQueueRequests) / 1e6,
    ),
    line('schedule', ticks, 'invocations', (ticks * prices.perMillionSchedules) / 1e6),
    line('logs', logged, 'GB', logged * prices.perLoggedGb),
  ];
}
