import { HEART_JITTER, leaseLength } from '../../settings/lease-length.ts';
import { type RecoveryBound, recoveryBound } from '../../settings/recovery-bound.ts';
import { PARTITION_WRITE_UNITS, shardsNeeded, USABLE_SHARE } from '../../settings/relations.ts';
import type { Settings } from '../../settings/settings.ts';
import { FLUSH_MS } from '../../wire/metrics.ts';
import { type CostLine, SECONDS_A_MONTH } from './bill.ts';
import { type JobSize, type JobUnits, jobUnits } from './job-units.ts';
import { operationsBill, type Watching } from './operations-bill.ts';
import type { Prices } from './prices.ts';
import { reaperBill } from './reaper-bill.ts';
import { totalUnits } from './write-units.ts';

/** A workload, as its owner would describe it. */
export interface Workload extends JobSize {
  /** Jobs started in a second. */
  readonly rate: number;
  /** How long one job runs, ms. */
  readonly durationMs: number;
  /** Checkpoints stored by one job. */
  readonly checkpoints: number;
  /** Share of the attempts whose handler throws, and share whose worker dies. */
  readonly errorShare: number;
  readonly crashShare: number;
  /** Where handlers run: on Lambda with this memory, or in processes that are paid for elsewhere. */
  readonly host: { readonly kind: 'lambda'; readonly memoryMb: number } | { readonly kind: 'process' };
}

export type PlanSettings = Pick<
  Settings,
  | 'leaseMs'
  | 'leaseGrowth'
  | 'leaseGrowthCapMs'
  | 'heartbeatMs'
  | 'maxRunMs'
  | 'skewMs'
  | 'graceMs'
  | 'reaperIntervalMs'
  | 'minSweepIntervalMs'
  | 'minLeaseMs'
  | 'dispatchLeaseMs'
  | 'timeScale'
  | 'batchSize'
  | 'rowRetentionMs'
  | 'shards'
>;

export interface Plan {
  readonly running: number;
  readonly beatsPerJob: number;
  /** Write units a second at the mean load, table and index. */
  readonly writeUnitsPerSecond: { readonly table: number; readonly index: number };
  readonly shards: number;
  readonly recovery: RecoveryBound;
  readonly lines: readonly CostLine[];
  /** What each group of lines costs. */
  readonly dollars: Readonly<Record<CostLine['group'], number>>;
  readonly monthlyDollars: number;
  readonly heartbeatDollars: number;
  readonly dollarsPerMillionJobs: number;
}

const GB = 1024 ** 3;
/** SQS bills a request for every 64 KiB. */
const QUEUE_CHUNK_BYTES = 64 * 1024;

/** Capacity, monthly cost and recovery time of a workload under these settings. */
export function planFor(
  workload: Workload,
  settings: PlanSettings,
  prices: Prices,
  watching: Watching = {},
): Plan {
  const units = jobUnits(workload);
  const beats = beatsOf(workload.durationMs, settings);
  const running = (workload.rate * workload.durationMs) / 1000;
  const perJob = writesPerJob(workload, units, beats);
  const perSecond = (of: 'table' | 'index') =>
    perJob.reduce((total, line) => total + line[of], 0) * workload.rate;
  // Short jobs hardly beat, but every claim and every end is written to the index as well.
  const shards = Math.max(
    shardsForBeats(running, workload, beats),
    Math.ceil(perSecond('index') / (PARTITION_WRITE_UNITS * USABLE_SHARE)),
  );
  const jobs = workload.rate * SECONDS_A_MONTH;
  const lines = [
    ...perJob.map(
      ({ what, table, index }): CostLine => ({
        group: 'coordination',
        what,
        amount: (table + index) * jobs,
        unit: 'write units',
        dollars: ((table + index) * jobs * prices.perMillionWriteUnits) / 1e6,
      }),
    ),
    storage(workload, units, settings, prices),
    queueRequests(workload, settings, prices),
    ...workerHost(workload, settings, prices),
    ...reaperBill(Math.max(shards, settings.shards), settings, running > 0, prices),
  ];
  lines.push(...watchingBill(workload, lines, watching, prices));
  const monthlyDollars = lines.reduce((sum, line) => sum + line.dollars, 0);
  const dollarsFor = (group: CostLine['group']) =>
    lines.reduce((sum, line) => sum + (line.group === group ? line.dollars : 0), 0);
  return {
    running,
    beatsPerJob: beats,
    writeUnitsPerSecond: { table: perSecond('table'), index: perSecond('index') },
    shards,
    recovery: recoveryBound(settings),
    lines,
    dollars: {
      coordination: dollarsFor('coordination'),
      operations: dollarsFor('operations'),
      compute: dollarsFor('compute'),
    },
    monthlyDollars,
    heartbeatDollars: lines.find((line) => line.what === HEARTBEATS)?.dollars ?? 0,
    dollarsPerMillionJobs: jobs === 0 ? 0 : (monthlyDollars / jobs) * 1e6,
  };
}

/** What logs, metrics, alarms and events of this workload cost, by what the other lines come to. */
function watchingBill(
  workload: Workload,
  lines: readonly CostLine[],
  watching: Watching,
  prices: Prices,
): readonly CostLine[] {
  const amountOf = (what: string) => lines.find((line) => line.what === what)?.amount ?? 0;
  const jobs = workload.rate * SECONDS_A_MONTH;
  const again = attemptsOf(workload) - 1;
  return operationsBill(
    {
      jobs: jobs * (1 + again),
      // A long one has told of its claims before it tells of their ends.
      metricLines: amountOf(INVOCATIONS) * (workload.durationMs > FLUSH_MS ? 2 : 1),
      storedGb: amountOf(ROWS_KEPT),
      events: jobs * again,
      onLambda: workload.host.kind === 'lambda',
    },
    watching,
    prices,
  );
}

const HEARTBEATS = 'heartbeats';
const ROWS_KEPT = 'rows kept';
const INVOCATIONS = 'workers (Lambda invocations)';
/** A process takes as many messages at once as SQS gives. */
const MESSAGES_A_POLL = 10;

/** Each attempt that fails is followed by another one. */
const attemptsOf = ({ errorShare, crashShare }: Workload): number => 1 / (1 - errorShare - crashShare);

/** Hearts beat early by a random share, so the mean time between two beats is shorter than the setting says. @internal */
export const MEAN_INTERVAL = 1 - HEART_JITTER / 2;

/** Beats of one undisturbed attempt; a growing lease beats ever more seldom. @internal */
export function beatsOf(durationMs: number, settings: PlanSettings): number {
  const share = (settings.heartbeatMs / settings.leaseMs) * MEAN_INTERVAL;
  if (settings.leaseGrowth === 0) return Math.floor(durationMs / (settings.heartbeatMs * MEAN_INTERVAL));
  let beats = -1;
  for (let age = 0; age <= durationMs; age += leaseLength(settings.leaseMs, age, settings) * share) beats++;
  return beats;
}

/** The relation between settings allows for early beats by itself, so it is given the interval before jitter. */
const shardsForBeats = (running: number, workload: Workload, beats: number): number =>
  beats === 0
    ? 1
    : shardsNeeded({
        maxRunning: Math.ceil(running),
        heartbeatMs: workload.durationMs / beats / MEAN_INTERVAL,
      });

interface Writes {
  readonly what: string;
  readonly table: number;
  readonly index: number;
}

function writesPerJob(workload: Workload, units: JobUnits, beats: number): Writes[] {
  const times = (what: string, count: number, each: JobUnits['claim']): Writes => ({
    what,
    table: each.table * count,
    index: (totalUnits(each) - each.table) * count,
  });
  // Each attempt that fails is followed by another one.
  const again = (workload.errorShare + workload.crashShare) / (1 - workload.errorShare - workload.crashShare);
  const errors =
    again === 0 ? 0 : (again * workload.errorShare) / (workload.errorShare + workload.crashShare);
  return [
    times('claims', 1, units.claim),
    times(HEARTBEATS, beats * (1 + again / 2), units.heartbeat),
    times('checkpoints', workload.checkpoints, units.checkpoint),
    times('completions', 1, units.complete),
    times('retries after errors', errors, plus(units.retry, units.claimAgain)),
    times('reclaims after crashes', again - errors, plus(units.reclaim, units.claimAgain)),
  ].filter((line) => line.table > 0);
}

const plus = (a: JobUnits['claim'], b: JobUnits['claim']): JobUnits['claim'] => ({
  table: a.table + b.table,
  byLease: a.byLease + b.byLease,
});

function storage(workload: Workload, units: JobUnits, settings: PlanSettings, prices: Prices): CostLine {
  const rows = (workload.rate * (settings.rowRetentionMs + workload.durationMs)) / 1000;
  // DynamoDB adds 100 bytes to every stored row.
  const gigabytes = (rows * (units.doneRowBytes + 100)) / GB;
  return {
    group: 'coordination',
    what: ROWS_KEPT,
    amount: gigabytes,
    unit: 'GB',
    dollars: gigabytes * prices.perStoredGbMonth,
  };
}

/** One send, one receive and one delete for a job; receive and delete are shared by a batch. */
function queueRequests(workload: Workload, settings: PlanSettings, prices: Prices): CostLine {
  const chunks = Math.max(1, Math.ceil(workload.payloadBytes / QUEUE_CHUNK_BYTES));
  const attempts = attemptsOf(workload);
  const batch = workload.host.kind === 'process' ? MESSAGES_A_POLL : settings.batchSize;
  const perJob = (chunks * attempts * (batch + 1) + attempts) / batch;
  const amount = workload.rate * SECONDS_A_MONTH * perJob;
  return {
    group: 'coordination',
    what: 'queue (SQS)',
    amount,
    unit: 'requests',
    dollars: (amount * prices.perMillionQueueRequests) / 1e6,
  };
}

function workerHost(workload: Workload, settings: PlanSettings, prices: Prices): CostLine[] {
  if (workload.host.kind === 'process') return [];
  const attempts = workload.rate * SECONDS_A_MONTH * attemptsOf(workload);
  const gbSeconds = (attempts * (workload.durationMs / 1000) * workload.host.memoryMb) / 1024;
  // A job longer than an invocation is released and claimed again.
  const runs = Math.max(1, Math.ceil(workload.durationMs / MAX_INVOCATION_MS));
  const invocations = (attempts * runs) / settings.batchSize;
  return [
    {
      group: 'compute',
      what: 'workers (Lambda time)',
      amount: gbSeconds,
      unit: 'GB-s',
      dollars: gbSeconds * prices.perGbSecond,
    },
    {
      group: 'compute',
      what: INVOCATIONS,
      amount: invocations,
      unit: 'invocations',
      dollars: (invocations * prices.perMillionInvocations) / 1e6,
    },
  ];
}

const MAX_INVOCATION_MS = 15 * 60_000;
