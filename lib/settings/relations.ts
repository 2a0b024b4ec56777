import type { Settings } from './settings.ts';

/**
 * Write units a second that one partition takes, and what one heartbeat uses there (a delete and a put). A key that sorts by
 * time is never split, so once DynamoDB has given each hot key a partition of its own, this is what a shard takes.
 */
export const PARTITION_WRITE_UNITS = 1000;
export const UNITS_PER_BEAT = 2;
/**
 * How much of a key may be planned for: heartbeats come up to a fifth early, a tenth on average, and the fullest of many shards
 * holds some 4% more than the mean (bench/scenarios/scale-simulation). Single seconds above it are what burst capacity is for.
 */
export const USABLE_SHARE = 0.85;

interface Relation {
  readonly holds: (s: Settings) => boolean;
  /** Names both settings, both values, and a fix. */
  readonly says: (s: Settings) => string;
}

const relations: readonly Relation[] = [
  {
    holds: (s) => s.heartbeatMs * 3 <= s.leaseMs,
    says: (s) =>
      `heartbeatMs (${s.heartbeatMs}) must be at most a third of leaseMs (${s.leaseMs}), so that two lost heartbeats do not lose a job; set heartbeatMs to ${Math.floor(s.leaseMs / 3)} or leaseMs to ${s.heartbeatMs * 3}`,
  },
  {
    holds: (s) => s.minLeaseMs <= s.leaseMs,
    says: (s) =>
      `minLeaseMs (${s.minLeaseMs}) must be at most leaseMs (${s.leaseMs}); lower minLeaseMs or raise leaseMs`,
  },
  {
    holds: (s) => s.skewMs * 3 < s.minLeaseMs,
    says: (s) =>
      `skewMs (${s.skewMs}) must be less than a third of minLeaseMs (${s.minLeaseMs}); lower skewMs to ${Math.ceil(s.minLeaseMs / 3) - 1} or raise minLeaseMs above ${s.skewMs * 3}`,
  },
  {
    holds: (s) => s.functionTimeoutMs + s.batchWindowMs <= s.visibilityTimeoutMs,
    says: (s) =>
      `functionTimeoutMs (${s.functionTimeoutMs}) plus batchWindowMs (${s.batchWindowMs}) must be at most visibilityTimeoutMs (${s.visibilityTimeoutMs}), or SQS delivers a message again while its worker still runs; set visibilityTimeoutMs to ${s.functionTimeoutMs + s.batchWindowMs} or more`,
  },
  {
    holds: (s) => s.deadlineMarginMs < s.functionTimeoutMs,
    says: (s) =>
      `deadlineMarginMs (${s.deadlineMarginMs}) must be less than functionTimeoutMs (${s.functionTimeoutMs}), or no job ever starts; lower deadlineMarginMs`,
  },
  {
    holds: (s) => s.queueRetentionMs < s.deadLetterRetentionMs,
    says: (s) =>
      `queueRetentionMs (${s.queueRetentionMs}) must be less than deadLetterRetentionMs (${s.deadLetterRetentionMs}), because SQS counts a message's age from its first sending; lower queueRetentionMs`,
  },
  {
    holds: (s) => s.deadLetterRetentionMs < s.rowRetentionMs,
    says: (s) =>
      `deadLetterRetentionMs (${s.deadLetterRetentionMs}) must be less than rowRetentionMs (${s.rowRetentionMs}), or a late duplicate runs a finished job again; raise rowRetentionMs`,
  },
  {
    holds: (s) => s.backoffBaseMs <= s.backoffCapMs,
    says: (s) =>
      `backoffCapMs (${s.backoffCapMs}) must be at least backoffBaseMs (${s.backoffBaseMs}); raise backoffCapMs or lower backoffBaseMs`,
  },
  {
    holds: (s) => s.dispatchLeaseMs <= s.dispatchLeaseCapMs,
    says: (s) =>
      `dispatchLeaseCapMs (${s.dispatchLeaseCapMs}) must be at least dispatchLeaseMs (${s.dispatchLeaseMs}); raise dispatchLeaseCapMs`,
  },
  {
    holds: (s) => s.maxCrashes <= s.maxAttempts,
    says: (s) =>
      `maxCrashes (${s.maxCrashes}) must be at most maxAttempts (${s.maxAttempts}), which counts crashes as well; lower maxCrashes or raise maxAttempts`,
  },
  {
    holds: (s) => s.batchConcurrency <= s.batchSize,
    says: (s) =>
      `batchConcurrency (${s.batchConcurrency}) must be at most batchSize (${s.batchSize}); raise batchSize or lower batchConcurrency`,
  },
  {
    holds: (s) => s.shards >= shardsNeeded(s),
    says: (s) =>
      `shards (${s.shards}) are too few for maxRunning (${s.maxRunning}) at heartbeatMs (${s.heartbeatMs}): a shard cannot be split, and a partition of the index takes ${PARTITION_WRITE_UNITS} write units a second, of which ${100 * USABLE_SHARE}% can be planned for, and a heartbeat uses ${UNITS_PER_BEAT}; set shards to ${shardsNeeded(s)} or more, or lengthen heartbeatMs and leaseMs`,
  },
];

/** The index shards that carry this many heartbeats. */
export const shardsNeeded = (s: Pick<Settings, 'maxRunning' | 'heartbeatMs'>): number =>
  Math.max(
    1,
    Math.ceil(
      (s.maxRunning * UNITS_PER_BEAT * 1000) / s.heartbeatMs / (PARTITION_WRITE_UNITS * USABLE_SHARE),
    ),
  );

/** What is wrong between settings that are each within their limits. */
export const brokenRelations = (settings: Settings): string[] =>
  relations.filter((relation) => !relation.holds(settings)).map((relation) => relation.says(settings));
