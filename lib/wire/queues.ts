const SECOND = 1000;

/** Type, id, times and budgets around the payload. */
const MESSAGE_ENVELOPE_BYTES = 4 * 1024;
/** SQS limit; the reaper dispatches later jobs shortly before they are due. */
export const MAX_HINT_DELAY_MS = 900_000;
/** SQS limit. */
const RECEIVE_WAIT_SECONDS = 20;
/** Covers ten row writes. */
export const DEAD_LETTER_TIMEOUT_SECONDS = 30;
/** AWS recommends six function timeouts, so that throttled batches are not delivered twice. */
const CONSUMER_TIMEOUTS = 6;
export const DEAD_LETTER_BATCH_SIZE = 10;

/** A longer mass reclaim continues in the next invocation. */
export const REAPER_TIMEOUT_SECONDS = 60;
/** 0.29 of a core on Lambda: docs/internals/decisions/0024-memory-of-the-reaper.md */
export const REAPER_MEMORY_MB = 512;
export const WAKE_BATCH_SIZE = 10;
/** By then the schedule has started several reapers. */
const WAKE_RETENTION_SECONDS = 300;

interface DeliverySettings {
  readonly functionTimeoutMs: number;
  readonly batchWindowMs: number;
}

interface QueueSettings extends DeliverySettings {
  readonly queueRetentionMs: number;
  readonly deadLetterRetentionMs: number;
  readonly maxPayloadBytes: number;
  readonly maxReceiveCount: number;
}

const TIMEOUT_SPARE_MS = 60 * SECOND;

/** Exceeds the longest invocation, or SQS would deliver a message again while its worker still runs. */
export const visibilityTimeoutMs = ({ functionTimeoutMs, batchWindowMs }: DeliverySettings): number =>
  functionTimeoutMs + batchWindowMs + Math.min(TIMEOUT_SPARE_MS, functionTimeoutMs / 2);

/** Sized so that SendMessage refuses a payload that a row could not store. */
export const jobQueueAttributes = (settings: QueueSettings) => ({
  visibilityTimeoutSeconds: Math.ceil(visibilityTimeoutMs(settings) / SECOND),
  retentionSeconds: Math.ceil(settings.queueRetentionMs / SECOND),
  maxMessageBytes: settings.maxPayloadBytes + MESSAGE_ENVELOPE_BYTES,
  receiveWaitSeconds: RECEIVE_WAIT_SECONDS,
  maxReceiveCount: settings.maxReceiveCount,
});

export const deadLetterQueueAttributes = (settings: QueueSettings) => ({
  visibilityTimeoutSeconds: DEAD_LETTER_TIMEOUT_SECONDS * CONSUMER_TIMEOUTS,
  retentionSeconds: Math.ceil(settings.deadLetterRetentionMs / SECOND),
});

/** Lambda requires a visibility timeout of at least the function's; the schedule replaces lost wakes. */
export const wakeQueueAttributes = {
  visibilityTimeoutSeconds: REAPER_TIMEOUT_SECONDS,
  retentionSeconds: WAKE_RETENTION_SECONDS,
} as const;
