import type { Settings } from './settings.ts';

/** Per second, the limit of a shard: DynamoDB never splits a time-sorted key. */
export const PARTITION_WRITE_UNITS = 1000;
const UNITS_PER_BEAT = 2;
/** Of a claim and an end, for table and index each. @internal */
export const UNITS_PER_START = 2;
/** Leaves room for early heartbeats and for the fullest shard, 4% above the mean (bench/scenarios/scale-simulation). */
export const USABLE_SHARE = 0.85;

interface Relation {
  readonly holds: (s: Settings) => boolean;
  /** Names both settings, both values, and a fix. */
  readonly message: (s: Settings) => string;
}

const relations: readonly Relation[] = [
  {
    holds: (s) => s.heartbeatMs * 3 <= s.leaseMs,
    message: (s) =>
      `heartbeatMs (${s.heartbeatMs}) must be at most a third of leaseMs (${s.leaseMs}), so that two lost heartbeats do not lose a job; set heartbeatMs to ${Math.floor(s.leaseMs / 3)} or leaseMs to ${s.heartbeatMs * 3}`,
  },
  {
    holds: (s) => s.minLeaseMs <= s.leaseMs,
    message: (s) =>
      `minLeaseMs (${s.minLeaseMs}) must be at most leaseMs (${s.leaseMs}); lower minLeaseMs or raise leaseMs`,
  },
  {
    holds: (s) => s.skewMs * 3 < s.minLeaseMs,
    message: (s) =>
      `skewMs (${s.skewMs}) must be less than a third of minLeaseMs (${s.minLeaseMs}); lower skewMs to ${Math.ceil(s.minLeaseMs / 3) - 1} or raise minLeaseMs above ${s.skewMs * 3}`,
  },
  {
    holds: (s) => s.deadlineMarginMs < s.functionTimeoutMs,
    message: (s) =>
      `deadlineMarginMs (${s.deadlineMarginMs}) must be less than functionTimeoutMs (${s.functionTimeoutMs}), or no job ever starts; lower deadlineMarginMs`,
  },
  {
    holds: (s) => s.queueRetentionMs < s.deadLetterRetentionMs,
    message: (s) =>
      `queueRetentionMs (${s.queueRetentionMs}) must be less than deadLetterRetentionMs (${s.deadLetterRetentionMs}), because SQS counts a message's age from its first sending; lower queueRetentionMs`,
  },
  {
    holds: (s) => s.deadLetterRetentionMs < s.rowRetentionMs,
    message: (s) =>
      `deadLetterRetentionMs (${s.deadLetterRetentionMs}) must be less than rowRetentionMs (${s.rowRetentionMs}), or a late duplicate runs a finished job again; raise rowRetentionMs`,
  },
  {
    holds: (s) => s.backoffBaseMs <= s.backoffCapMs,
    message: (s) =>
      `backoffCapMs (${s.backoffCapMs}) must be at least backoffBaseMs (${s.backoffBaseMs}); raise backoffCapMs or lower backoffBaseMs`,
  },
  {
    holds: (s) => s.dispatchLeaseMs <= s.dispatchLeaseCapMs,
    message: (s) =>
      `dispatchLeaseCapMs (${s.dispatchLeaseCapMs}) must be at least dispatchLeaseMs (${s.dispatchLeaseMs}); raise dispatchLeaseCapMs`,
  },
  {
    holds: (s) => s.maxCrashes <= s.maxAttempts,
    message: (s) =>
      `maxCrashes (${s.maxCrashes}) must be at most maxAttempts (${s.maxAttempts}), which counts crashes as well; lower maxCrashes or raise maxAttempts`,
  },
  {
    holds: (s) => s.batchConcurrency <= s.batchSize,
    message: (s) =>
      `batchConcurrency (${s.batchConcurrency}) must be at most batchSize (${s.batchSize}); raise batchSize or lower batchConcurrency`,
  },
  {
    holds: (s) => s.shards >= shardsNeeded(s),
    message: (s) =>
      `shards (${s.shards}) are too few for maxRunning (${s.maxRunning}) at heartbeatMs (${s.heartbeatMs}) and maxStartsPerSecond (${s.maxStartsPerSecond}): a shard cannot be split, and a partition of the index takes ${PARTITION_WRITE_UNITS} write units a second, of which ${100 * USABLE_SHARE}% can be planned for; a heartbeat uses ${UNITS_PER_BEAT}, and so does a job that starts and ends; set shards to ${shardsNeeded(s)} or more, or lengthen heartbeatMs and leaseMs`,
  },
];

export type Load = Pick<Settings, 'maxRunning' | 'heartbeatMs'> &
  Partial<Pick<Settings, 'maxStartsPerSecond'>>;

export function unitsNeeded({ maxRunning, heartbeatMs, maxStartsPerSecond = 0 }: Load) {
  const beats = (maxRunning * 1000) / heartbeatMs;
  const starts = UNITS_PER_START * maxStartsPerSecond;
  return { table: beats + starts, index: UNITS_PER_BEAT * beats + starts };
}

export const shardsNeeded = (load: Load): number =>
  Math.max(1, Math.ceil(unitsNeeded(load).index / (PARTITION_WRITE_UNITS * USABLE_SHARE)));

export const brokenRelations = (settings: Settings): string[] =>
  relations.filter((relation) => !relation.holds(settings)).map((relation) => relation.message(settings));
