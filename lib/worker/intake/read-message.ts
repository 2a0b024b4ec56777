import { createHash } from 'node:crypto';
import type { TypeLimits } from '../../protocol/job.ts';
import type { ReceivedMessage } from '../../protocol/ports.ts';
import { cutToBytes } from '../../protocol/rows/json-text.ts';
import type { RejectedMessage } from '../../protocol/writes/operator-writes.ts';
import type { NewJob } from '../../protocol/writes/worker-writes.ts';
import { messageLimits } from '../../settings/message-limits.ts';
import type { Settings } from '../../settings/settings.ts';
import { type HintMessage, type JobMessage, parseMessage, type Tick } from '../../wire/message.ts';
import { traceOf } from '../../wire/trace.ts';
import type { JobOptions } from '../define-job.ts';
import { termsOf } from '../registry.ts';
import type { WorkerParts } from '../worker-parts.ts';

const MAX_RAW_BYTES = 64 * 1024;

export type ReadMessage =
  | { readonly kind: 'rejected'; readonly rejected: RejectedMessage }
  | { readonly kind: 'later'; readonly job: NewJob; readonly notBefore: number }
  | HintMessage
  | { readonly kind: 'new'; readonly job: NewJob; readonly dueAt: number }
  /** A scheduled job whose start time is too long ago. */
  | { readonly kind: 'late'; readonly jobId: string; readonly byMs: number };

type ReceivedText = Pick<ReceivedMessage, 'messageId' | 'body' | 'sentAt' | 'trace'>;

/** Untrusted. */
export function readMessage(
  message: ReceivedText,
  { settings, clock }: Pick<WorkerParts, 'settings' | 'clock'>,
  optionsOf: (type: string) => JobOptions | undefined,
): ReadMessage {
  const now = clock.now();
  const parsed = parseMessage(message.body, messageLimits(settings), { sentAt: message.sentAt, now });
  if (!parsed.ok) {
    const { messageId, body } = message;
    const { reason, jobId } = parsed;
    const sha256 = createHash('sha256').update(body).digest('hex');
    const text = cutToBytes(body, MAX_RAW_BYTES);
    const rejected = { messageId, jobId, reason, text, bytes: Buffer.byteLength(body), sha256 };
    return { kind: 'rejected', rejected };
  }
  const { message: content } = parsed;
  if (content.kind === 'hint') return content;
  const job = newJob(content, message, optionsOf(content.type), settings);
  const { notBefore } = content;
  if (job.lateAt !== undefined && now > job.lateAt)
    return { kind: 'late', jobId: job.jobId, byMs: now - job.lateAt };
  return notBefore !== undefined && notBefore > now + settings.skewMs
    ? { kind: 'later', job, notBefore }
    : { kind: 'new', job, dueAt: Math.max(message.sentAt, notBefore ?? 0) };
}

/** The row of an older tick may have expired, so it could create a second job. */
const lateAtOf = ({ at, lateAfterMs }: Tick, { rowRetentionMs }: Settings): number =>
  at + Math.min(lateAfterMs, rowRetentionMs);

/** The limits of an unknown type are left to the first claim. */
export function newJob(
  message: JobMessage,
  { messageId, trace }: Pick<ReceivedMessage, 'messageId' | 'trace'>,
  options: JobOptions | undefined,
  settings: Settings,
): NewJob {
  const terms: Partial<TypeLimits> = options === undefined ? {} : termsOf(options, settings);
  const { leaseMs = terms.leaseMs, maxAttempts = terms.maxAttempts, maxCrashes = terms.maxCrashes } = message;
  return {
    jobId: message.jobId ?? messageId,
    type: message.type,
    key: message.key,
    lateAt: message.tick && lateAtOf(message.tick, settings),
    payload: message.payload,
    leaseMs,
    maxAttempts,
    maxCrashes: maxCrashes && Math.min(maxCrashes, maxAttempts ?? maxCrashes),
    trace: traceOf({ ...trace, traceparent: message.traceparent ?? trace?.traceparent }),
  };
}
