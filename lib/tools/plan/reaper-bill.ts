import type { Settings } from '../../settings/settings.ts';
import { MAX_HINT_DELAY_MS } from '../../wire/queues.ts';
import { type CostLine, IDLE_POLLS_A_MONTH, SECONDS_A_MONTH } from './bill.ts';
import type { Prices } from './prices.ts';

/** What the reaper costs on Lambda follows from these alone: the number of jobs does not matter. */
export type ReaperSettings = Pick<
  Settings,
  'leaseMs' | 'heartbeatMs' | 'minLeaseMs' | 'skewMs' | 'graceMs' | 'reaperIntervalMs'
>;

const MEMORY_GB = 256 / 1024;
/** One invocation that finds nothing lapsed, as counted on a warm function: one read, its queries in parallel, a message, a write. */
const INVOCATION_SECONDS = 0.15;
/** An empty query of an index partition, eventually consistent, and a consistent read of the reaper's row. */
const QUERY_UNITS = 0.5;
const ROW_READ_UNITS = 1;
/** The message is sent, received and deleted. */
const REQUESTS_A_WAKE = 3;
/** SQS delays by whole seconds, rounded up, and delivers a little later. */
const WAKE_LATENESS_MS = 800;
/** What a tick logs: its metrics as one line. A wake that finds nothing lapsed says nothing. */
const LOGGED_BYTES = 500;
const GB = 1e9;

/** Sweeps a minute: those that the reaper before woke, and those of the schedule. @internal */
export function sweepsAMinute(settings: ReaperSettings, isBusy: boolean) {
  const { leaseMs, heartbeatMs, minLeaseMs, skewMs, graceMs, reaperIntervalMs } = settings;
  const unseen = Math.min(minLeaseMs + skewMs, MAX_HINT_DELAY_MS);
  // Of many healthy jobs, the one whose heartbeat is due next has the soonest lease end.
  const pause = isBusy ? Math.min(unseen, leaseMs - heartbeatMs + skewMs + graceMs) : unseen;
  return { wakes: 60_000 / (pause + WAKE_LATENESS_MS), ticks: 60_000 / reaperIntervalMs };
}

/** A month of the reaper, by what it asks of each service. */
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
  // A wake reads the running shards, a tick the pending ones as well.
  const readUnits =
    wakes * (ROW_READ_UNITS + shards * QUERY_UNITS) + ticks * (ROW_READ_UNITS + 2 * shards * QUERY_UNITS);
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
