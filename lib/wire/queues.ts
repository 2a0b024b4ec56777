/** The queues as both sides see them: what the stack creates, and what the local engine is given. */

const SECOND = 1000;

/** What a message carries around its payload: type, id, times, budgets, and the JSON between them. */
const MESSAGE_ENVELOPE_BYTES = 4 * 1024;
/** The longest delay that SQS takes; what lies further ahead is dispatched by the reaper shortly before it is due. */
export const MAX_HINT_DELAY_MS = 900_000;
/** The longest poll that SQS allows: an idle consumer asks three times a minute. */
const RECEIVE_WAIT_SECONDS = 20;
/** The dead-letter consumer writes at most ten rows an invocation. */
export const DEAD_LETTER_TIMEOUT_SECONDS = 30;
/** AWS asks for a visibility timeout of six times the consumer's, so that throttled batches are not delivered twice. */
const CONSUMER_TIMEOUTS = 6;
export const DEAD_LETTER_BATCH_SIZE = 10;

/** One invocation of the reaper: a mass reclaim that takes longer is gone on with by the next. */
export const REAPER_TIMEOUT_SECONDS = 60;
export const WAKE_BATCH_SIZE = 10;
/** Older wakes are of no use: the schedule has started a reaper several times by then. */
const WAKE_RETENTION_SECONDS = 300;

interface QueueSettings {
  readonly visibilityTimeoutMs: number;
  readonly queueRetentionMs: number;
  readonly deadLetterRetentionMs: number;
  readonly maxPayloadBytes: number;
  readonly maxReceiveCount: number;
}

/** The queue of job messages and hints. SendMessage itself refuses what a row could not store. */
export const jobQueueAttributes = (settings: QueueSettings) => ({
  visibilityTimeoutSeconds: Math.ceil(settings.visibilityTimeoutMs / SECOND),
  retentionSeconds: Math.ceil(settings.queueRetentionMs / SECOND),
  maxMessageBytes: settings.maxPayloadBytes + MESSAGE_ENVELOPE_BYTES,
  receiveWaitSeconds: RECEIVE_WAIT_SECONDS,
  maxReceiveCount: settings.maxReceiveCount,
});

/** The queue for messages that no worker ever claimed. */
export const deadLetterQueueAttributes = (settings: QueueSettings) => ({
  visibilityTimeoutSeconds: DEAD_LETTER_TIMEOUT_SECONDS * CONSUMER_TIMEOUTS,
  retentionSeconds: Math.ceil(settings.deadLetterRetentionMs / SECOND),
});

/**
 * The queue whose messages start the next reaper. Lambda asks for a visibility timeout that is at least the function's. It
 * has no dead-letter queue: a lost wake is made good by the schedule.
 */
export const wakeQueueAttributes = {
  visibilityTimeoutSeconds: REAPER_TIMEOUT_SECONDS,
  retentionSeconds: WAKE_RETENTION_SECONDS,
} as const;
