import { randomUUID } from 'node:crypto';
import type { Clock } from '../../protocol/ports.ts';
import { messageLimits } from '../../settings/message-limits.ts';
import type { Settings } from '../../settings/settings.ts';
import { LeaseholdError } from '../../wire/leasehold-error.ts';
import { type JobMessage, jobBody, parseMessage, quoted, type SendOptions } from '../../wire/message.ts';
import { checkText } from '../../worker/check-schema.ts';
import { currentTrace } from '../../worker/current-trace.ts';
import { type Registry, UnknownTypeError } from '../../worker/registry.ts';

/** No worker would run the message, so it was not sent. */
export class MessageRefusedError extends LeaseholdError {
  static override readonly name: string = 'MessageRefusedError';
  constructor(type: string, reason: string) {
    super('MESSAGE_REFUSED', `a job of type ${quoted(type)} was not sent: ${reason}`);
  }
}

export interface CheckedMessage {
  readonly jobId: string;
  readonly body: string;
  readonly message: JobMessage;
  readonly at: number;
  readonly awsTraceHeader?: string;
}

export interface MessageCheckParts {
  readonly registry?: Registry;
  readonly settings: Settings;
  readonly clock: Pick<Clock, 'now'>;
}

export async function checkMessage(
  { registry, settings, clock }: MessageCheckParts,
  type: string,
  payload: unknown,
  options: SendOptions = {},
): Promise<CheckedMessage> {
  const definition = registry?.find(type);
  if (registry !== undefined && definition === undefined)
    throw new UnknownTypeError(
      type,
      registry.definitions.map((each) => each.type),
    );
  // Fixed before sending, so that a retry after a lost reply is the same job.
  const jobId = options.jobId ?? randomUUID();
  const trace = currentTrace();
  const traceparent = options.traceparent ?? trace?.traceparent;
  const body = jobBody(type, payload, { ...options, jobId, traceparent });
  const at = clock.now();
  const parsed = parseMessage(body, messageLimits(settings), { sentAt: at, now: at });
  if (!parsed.ok) throw new MessageRefusedError(type, parsed.reason);
  const { message } = parsed;
  if (message.kind !== 'job')
    throw new MessageRefusedError(
      type,
      'it is a hint, which only Leasehold sends; give it a type and a payload',
    );
  // A Date, for example, arrives as a string.
  const checked = definition && (await checkText(definition.payload, message.payload));
  if (checked?.ok === false) throw new MessageRefusedError(type, `its payload is refused: ${checked.reason}`);
  return { jobId, body, message, at, awsTraceHeader: trace?.awsTraceHeader };
}
