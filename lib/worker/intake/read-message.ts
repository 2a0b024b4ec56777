import { createHash } from 'node:crypto';
import type { ReceivedMessage } from '../../protocol/ports.ts';
import { cutToBytes } from '../../protocol/rows/json-text.ts';
import type { RejectedMessage } from '../../protocol/writes/operator-writes.ts';
import type { NewJob } from '../../protocol/writes/worker-writes.ts';
import { messageLimits } from '../../settings/message-limits.ts';
import type { Settings } from '../../settings/settings.ts';
import { type JobMessage, parseMessage, type Tick } from '../../wire/message.ts';
import { traceOf } from '../../wire/trace.ts';
import type { PayloadCheck } from '../cells/cells.ts';
import type { JobOptions } from '../define-job.ts';
import { termsOf } from '../registry.ts';
import type { WorkerParts } from '../worker-parts.ts';

/** How much of a rejected message's text is kept. */
const MAX_RAW_BYTES = 64 * 1024;

const TERMS = ['leaseMs', 'maxAttempts', 'maxCrashes'] as const;

/** What a message asks for. */
export type ReadMessage =
  | { readonly kind: 'rejected'; readonly rejected: RejectedMessage }
  | { readonly kind: 'later'; readonly job: NewJob; readonly notBefore: number }
  | { readonly kind: 'hint'; readonly job: { readonly jobId: string }; readonly type?: string }
  | { readonly kind: 'new'; readonly job: NewJob; readonly dueAt: number }
  /** A tick of a schedule whose time is over: it makes no job. */
  | { readonly kind: 'late'; readonly jobId: string; readonly byMs: number };

type ReceivedText = Pick<ReceivedMessage, 'messageId' | 'body' | 'sentAt' | 'trace'>;

/** Reads a message whose sender is not trusted: whatever it holds, it is runnable or it is rejected with a reason. */
export function readMessage(
  message: ReceivedText,
  { settings, clock }: Pick<WorkerParts, 'settings' | 'clock'>,
  optionsOf: (type: string) => JobOptions | undefined,
): ReadMessage {
  const now = clock.now();
  const parsed = parseMessage(message.body, messageLimits(settings), { sentAt: message.sentAt, now });
  if (!parsed.ok) return rejected(message, parsed.reason, parsed.jobId);
  const { message: said } = parsed;
  if (said.kind === 'hint') return { kind: 'hint', job: { jobId: said.jobId }, type: said.type };
  const job = newJob(said, message, optionsOf(said.type), settings);
  const { notBefore, tick } = said;
  if (tick !== undefined && now - tick.at > latestOf(tick, settings))
    return { kind: 'late', jobId: job.jobId, byMs: now - tick.at };
  return notBefore !== undefined && notBefore > now + settings.skewMs
    ? { kind: 'later', job, notBefore }
    : { kind: 'new', job, dueAt: Math.max(message.sentAt, notBefore ?? 0) };
}

/** A tick that is older than rows are kept could make a second job: the row of the first may be gone. */
const latestOf = ({ lateAfterMs }: Tick, { rowRetentionMs }: Settings): number =>
  Math.min(lateAfterMs, rowRetentionMs);

/** A message whose payload its schema refused. */
export const refusedPayload = (
  message: ReceivedText,
  { jobId, type }: Pick<NewJob, 'jobId' | 'type'>,
  { reason }: Extract<PayloadCheck, { kind: 'refused' }>,
): RejectedMessage =>
  rejected(message, `the payload is refused by the schema of type '${type}': ${reason}`, jobId).rejected;

/** The job of a message: what it leaves open is the type's, or the settings'. */
export function newJob(
  message: JobMessage,
  { messageId, trace }: Pick<ReceivedMessage, 'messageId' | 'trace'>,
  options: JobOptions | undefined,
  settings: Settings,
): NewJob {
  const terms = termsOf(options, settings);
  const maxAttempts = message.maxAttempts ?? terms.maxAttempts;
  return {
    jobId: message.jobId ?? messageId,
    type: message.type,
    payload: message.payload,
    leaseMs: message.leaseMs ?? terms.leaseMs,
    maxAttempts,
    maxCrashes: Math.min(message.maxCrashes ?? terms.maxCrashes, maxAttempts),
    // A worker that does not know the type leaves its terms to the first claim by one that does.
    defaultTerms: options === undefined ? TERMS.filter((name) => message[name] === undefined) : undefined,
    trace: traceOf({ ...trace, traceparent: message.traceparent ?? trace?.traceparent }),
  };
}

function rejected(
  { messageId, body }: { messageId: string; body: string },
  reason: string,
  jobId: string | undefined,
): Extract<ReadMessage, { kind: 'rejected' }> {
  return {
    kind: 'rejected',
    rejected: {
      messageId,
      jobId,
      reason,
      text: cutToBytes(body, MAX_RAW_BYTES),
      bytes: Buffer.byteLength(body),
      sha256: createHash('sha256').update(body).digest('hex'),
    },
  };
}
