import { createHash } from 'node:crypto';
import type { ReceivedMessage } from '../../protocol/ports.ts';
import { cutToBytes } from '../../protocol/rows/json-text.ts';
import type { RejectedMessage } from '../../protocol/writes/operator-writes.ts';
import type { NewJob } from '../../protocol/writes/worker-writes.ts';
import { messageLimits } from '../../settings/message-limits.ts';
import type { Settings } from '../../settings/settings.ts';
import { type JobMessage, parseMessage } from '../../wire/message.ts';
import { type CheckedPayload, checkText } from '../cells/handler-job.ts';
import { type Registry, termsOf } from '../registry.ts';
import type { WorkerParts } from '../worker-parts.ts';

/** How much of a rejected message's text is kept. */
const MAX_RAW_BYTES = 64 * 1024;

/** What a message asks for. */
export type ReadMessage =
  | { readonly kind: 'rejected'; readonly rejected: RejectedMessage }
  | { readonly kind: 'later'; readonly job: NewJob; readonly notBefore: number }
  | { readonly kind: 'hint'; readonly job: { readonly jobId: string } }
  | { readonly kind: 'new'; readonly job: NewJob; readonly checked?: CheckedPayload };

/** Reads a message whose sender is not trusted: whatever it holds, it is runnable or it is rejected with a reason. */
export async function readMessage(
  message: Pick<ReceivedMessage, 'messageId' | 'body' | 'sentAt'>,
  { registry, settings, clock }: Pick<WorkerParts, 'registry' | 'settings' | 'clock'>,
): Promise<ReadMessage> {
  const now = clock.now();
  const parsed = parseMessage(message.body, messageLimits(settings), { sentAt: message.sentAt, now });
  if (!parsed.ok) return rejected(message, parsed.reason);
  if (parsed.message.kind === 'hint') return { kind: 'hint', job: { jobId: parsed.message.jobId } };
  const { type, payload, notBefore } = parsed.message;
  const job = newJob(parsed.message, message.messageId, registry, settings);
  const schema = registry.find(type)?.payload;
  // A type that is not known here may be known to a newer worker: its payload is judged there.
  const checked = schema === undefined ? undefined : await checkText(schema, payload, clock);
  if (checked?.ok === false)
    return rejected(message, `the payload is refused by the schema of type '${type}': ${checked.reason}`);
  if (notBefore !== undefined && notBefore > now + settings.skewMs) return { kind: 'later', job, notBefore };
  return {
    kind: 'new',
    job,
    checked: checked && { text: payload, value: checked.value },
  };
}

function newJob(message: JobMessage, messageId: string, registry: Registry, settings: Settings): NewJob {
  const terms = termsOf(registry.find(message.type), settings);
  const maxAttempts = message.maxAttempts ?? terms.maxAttempts;
  return {
    jobId: message.jobId ?? messageId,
    type: message.type,
    payload: message.payload,
    leaseMs: message.leaseMs ?? terms.leaseMs,
    maxAttempts,
    maxCrashes: Math.min(message.maxCrashes ?? terms.maxCrashes, maxAttempts),
  };
}

function rejected({ messageId, body }: { messageId: string; body: string }, reason: string): ReadMessage {
  return {
    kind: 'rejected',
    rejected: {
      messageId,
      reason,
      text: cutToBytes(body, MAX_RAW_BYTES),
      bytes: Buffer.byteLength(body),
      sha256: createHash('sha256').update(body).digest('hex'),
    },
  };
}
