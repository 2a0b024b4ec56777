import { HEART_JITTER } from '../../settings/heartbeat-timing.ts';
import { type RecoveryBound, recoveryBound } from '../../settings/recovery-bound.ts';
import { PARTITION_WRITE_UNITS, shardsNeeded, USABLE_SHARE } from '../../settings/relations.ts';
import type { Settings } from '../../settings/settings.ts';
import { FLUSH_MS } from '../../wire/metrics.ts';
import { type CostLine, SECONDS_A_MONTH } from './bill.ts';
import { type JobSize, type JobUnits, jobUnits } from './job-units.ts';
import { operationsBill, type Watching } from './operations-bill.ts';
import { poolBill } from './pool-bill.ts';
import type { Prices } from './prices.ts';
import { reaperBill } from './reaper-bill.ts';
import { totalUnits } from './write-units.ts';

export interface Workload extends JobSize {
  readonly rate: number;
  readonly durationMs: number;
  readonly checkpoints: number;
  /** Share of attempts whose handler throws, and whose worker dies. */
  readonly errorShare: number;
  readonly crashShare: number;
  readonly host: { readonly kind: 'lambda'; readonly memoryMb: number } | { readonly kind: 'process' };
}

export type PlanSettings = Pick<
  Settings,
  | 'leaseMs'
  | 'heartbeatMs'
  | 'skewMs'
  | 'reaperIntervalMs'
  | 'minSweepIntervalMs'
  | 'minLeaseMs'
  | 'dispatchLeaseMs'
  | 'batchSize'
  | 'rowRetentionMs'
  | 'shards'
>;

export interface Plan {
  readonly running: number;
  readonly beatsPerJob: number;
  readonly writeUnitsPerSecond: { readonly table: number; readonly index: number };
  readonly shards: number;
  readonly recovery: RecoveryBound;
  readonly lines: readonly CostLine[];
  readonly dollars: Readonly<Record<CostLine['group'], number>>;
  readonly monthlyDollars: number;
  readonly heartbeatDollars: number;
  readonly dollarsPerMillionJobs: number;
}

const GB = 1024 ** 3;
/** SQS bills one request per 64 KiB. */
const QUEUE_CHUNK_BYTES = 64 * 1024;

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
  // Short jobs rarely beat, but every claim and every end also writes to the index.
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
  if (watching.pools !== undefined) {
    const { reaperIntervalMs } = settings;
    const load = { shards: Math.max(shards, settings.shards), running, reaperIntervalMs };
    lines.push(...poolBill(watching.pools, load, prices));
  }
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
      // A long job reports its claim before its end.
      metricLines: amountOf(INVOCATIONS) * (workload.durationMs > FLUSH_MS ? 2 : 1),
      storedGb: amountOf(ROWS_KEPT),
      events: jobs * again,
      onLambda: workload.host.kind === 'lambda',
    },
    watching,
    prices,
  );
}

const MAX_INVOCATION_MS = 15 * 60_000;

/** An attempt continues in another invocation after 15 minutes. */
const handOversOf = ({ host, durationMs }: Workload): number =>
  host.kind === 'process' ? 0 : Math.max(0, Math.ceil(durationMs / MAX_INVOCATION_MS) - 1);

const HEARTBEATS = 'heartbeats';
const ROWS_KEPT = 'rows kept';
/** @internal */
export const OWN_TIME = 'own time of workers (Lambda)';
const INVOCATIONS = 'workers (Lambda invocations)';
const MESSAGES_A_POLL = 10;

const attemptsOf = ({ errorShare, crashShare }: Workload): number => 1 / (1 - errorShare - crashShare);

/** Beats come early by a random share, so the mean interval is shorter than the setting. @internal */
export const MEAN_INTERVAL = 1 - HEART_JITTER / 2;

/** Beats of one undisturbed attempt. @internal */
export const beatsOf = (durationMs: number, { heartbeatMs }: Pick<Settings, 'heartbeatMs'>): number =>
  Math.floor(durationMs / (heartbeatMs * MEAN_INTERVAL));

/** The settings relation already allows for early beats, so it gets the interval before jitter. */
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
  const again = (workload.errorShare + workload.crashShare) / (1 - workload.errorShare - workload.crashShare);
  const errors =
    again === 0 ? 0 : (again * workload.errorShare) / (workload.errorShare + workload.crashShare);
  return [
    times('claims', 1, units.claim),
    times(HEARTBEATS, beats * (1 + again / 2), units.heartbeat),
    times('checkpoints', workload.checkpoints, units.checkpoint),
    times('completions', 1, units.complete),
    times('hand-overs', handOversOf(workload) * (1 + again), plus(units.release, units.claimAgain)),
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

/** Each message is sent, received and deleted; batches share receives and deletes. */
function queueRequests(workload: Workload, settings: PlanSettings, prices: Prices): CostLine {
  const chunks = Math.max(1, Math.ceil(workload.payloadBytes / QUEUE_CHUNK_BYTES));
  const attempts = attemptsOf(workload) * (1 + handOversOf(workload));
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

const ROUND_TRIP_MS = 10;
/** CPU time of one job's requests, from the bench part "own". */
const OWN_CPU_MS = 6;
/** Memory at which Lambda gives a function a full core. */
const WHOLE_CORE_MB = 1769;
/** AWS says that fewer than 1% of invocations are cold starts. */
const COLD_SHARE = 0.01;
/** From the bench part "init", with the share of a core of 512 MB. */
const INIT_MS = 800;

/** Wall time that Leasehold adds to each job of an invocation. @internal */
export const ownMsOf = (memoryMb: number, batchSize: number): number =>
  ROUND_TRIP_MS * (1 + 1 / batchSize) + OWN_CPU_MS / Math.min(1, memoryMb / WHOLE_CORE_MB);

function workerHost(workload: Workload, settings: PlanSettings, prices: Prices): CostLine[] {
  const { host, durationMs } = workload;
  if (host.kind === 'process') return [];
  const attempts = workload.rate * SECONDS_A_MONTH * attemptsOf(workload);
  const runs = attempts * (1 + handOversOf(workload));
  const invocations = runs / settings.batchSize;
  const ownMs = ownMsOf(host.memoryMb, settings.batchSize);
  const time = (group: CostLine['group'], what: string, ms: number): CostLine => {
    const amount = ((ms / 1000) * host.memoryMb) / 1024;
    return { group, what, amount, unit: 'GB-s', dollars: amount * prices.perGbSecond };
  };
  return [
    time('coordination', OWN_TIME, runs * ownMs),
    time('compute', 'workers (Lambda time)', attempts * durationMs),
    time('compute', 'workers (Lambda INIT)', invocations * COLD_SHARE * INIT_MS),
    {
      group: 'compute',
      what: INVOCATIONS,
      amount: invocations,
      unit: 'invocations',
      dollars: (invocations * prices.perMillionInvocations) / 1e6,
    },
  ];
}
