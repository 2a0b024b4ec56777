import '../../node-version.ts';
import { systemClock } from '../../aws/clock.ts';
import type { AwsOptions } from '../../aws/connect.ts';
import { createSqsClient } from '../../aws/sqs/client.ts';
import { createSqsQueue } from '../../aws/sqs/sqs-queue.ts';
import { QueueUnavailableError } from '../../protocol/errors.ts';
import type { Clock, JobQueue, SentMessage } from '../../protocol/ports.ts';
import type { Settings } from '../../settings/settings.ts';
import { SettingsError } from '../../settings/settings-error.ts';
import { defined } from '../../wire/defined.ts';
import type { SendOptions } from '../../wire/message.ts';
import { queueUrlFor } from '../../wire/pools.ts';
import { MAX_HINT_DELAY_MS } from '../../wire/queues.ts';
import type { PayloadIn, Registry, TypeIn } from '../../worker/registry.ts';
import { openSpan } from '../../worker/spans.ts';
import { checkMessage, MessageRefusedError } from './check-message.ts';
import { queueProblem, queueUrlOf, routingOf, senderSettings } from './queue-url.ts';

export { MessageRefusedError };

/** A job that SQS accepted. */
export interface Sent<Type extends string = string> {
  readonly type: Type;
  readonly jobId: string;
  readonly messageId: string;
}

/** One job to send. */
export type Outgoing<R extends Registry> = {
  [Type in TypeIn<R>]: { readonly type: Type; readonly options?: SendOptions } & (undefined extends PayloadIn<
    R,
    Type
  >
    ? { readonly payload?: PayloadIn<R, Type> }
    : { readonly payload: PayloadIn<R, Type> });
}[TypeIn<R>];

/** Payload and options of a job; a type without a schema needs no payload. */
export type JobArguments<R extends Registry, Type extends TypeIn<R>> =
  undefined extends PayloadIn<R, Type>
    ? [payload?: PayloadIn<R, Type>, options?: SendOptions]
    : [payload: PayloadIn<R, Type>, options?: SendOptions];

/** The outcome of one job of `sendMany`. */
export type SendOutcome =
  | ({ readonly outcome: 'sent' } & Omit<Sent, 'type'>)
  | { readonly outcome: 'failed'; readonly reason: string };

/** Sends jobs. */
export interface Producer<R extends Registry> {
  /** Sends one job; throws if a worker would reject it. */
  send<Type extends TypeIn<R>>(type: Type, ...job: JobArguments<R, Type>): Promise<Sent<Type>>;
  /** Sends jobs, 10 per request. Throws before sending if a worker would reject any. */
  sendMany(jobs: readonly Outgoing<R>[]): Promise<readonly SendOutcome[]>;
}

/** Options of a producer. */
export interface ProducerOptions<R extends Registry> extends AwsOptions {
  /** Checks types and payloads before sending. @default - the worker checks them */
  readonly registry?: R;
  /** A queue URL, or a queue. @default - `LEASEHOLD_QUEUE_URL` */
  readonly queue?: string | Pick<JobQueue, 'sendJobs'>;
  /** The workers' settings that differ from the defaults. @default - `fair` from `LEASEHOLD_FAIR` */
  readonly settings?: Partial<Settings>;
  readonly clock?: Pick<Clock, 'now'>;
}

/** Creates a typed producer. The first `send` looks up the queue, so a build can load the module without one. */
export function createProducer<R extends Registry = Registry>(options: ProducerOptions<R> = {}): Producer<R> {
  const { registry, clock = systemClock } = options;
  const settings = senderSettings(options.settings);
  let opened: Pick<JobQueue, 'sendJobs'> | undefined;
  const queue = () => {
    opened ??= typeof options.queue === 'object' ? options.queue : queueAt(options.queue, settings, options);
    return opened;
  };

  const messageFor = async (type: string, payload: unknown, own?: SendOptions) => {
    const checked = await checkMessage({ registry, settings, clock }, type, payload, own);
    const { jobId, body, message, at, awsTraceHeader } = checked;
    return { type, key: message.key, jobId, body, awsTraceHeader, ...delayOf(message.notBefore, at) };
  };

  return {
    send: (type, ...[payload, sendOptions]) =>
      traced({ type, jobId: sendOptions?.jobId, trace: sendOptions }, undefined, async () => {
        const message = await messageFor(type, payload, sendOptions);
        const [sent] = await queue().sendJobs([message]);
        if (sent?.outcome !== 'sent')
          throw (
            sent?.error ?? new QueueUnavailableError('SendMessage', new Error(sent?.reason ?? 'no answer'))
          );
        return { type, messageId: sent.messageId, jobId: message.jobId };
      }),
    sendMany: (jobs) =>
      traced({ type: onlyTypeIn(jobs) }, jobs.length, async () => {
        const messages = await Promise.all(
          jobs.map(({ type, payload, options: own }) => messageFor(type, payload, own)),
        );
        const sent: readonly SentMessage[] = await queue().sendJobs(messages);
        return sent.map((each, i) =>
          each.outcome === 'sent'
            ? { outcome: 'sent', messageId: each.messageId, jobId: messages[i]?.jobId ?? each.messageId }
            : { outcome: 'failed', reason: each.reason },
        );
      }),
  };
}

/** Jobs carry this span's context. Errors may quote a payload, so the span records only their names. */
async function traced<Result>(
  job: Parameters<typeof openSpan>[0]['job'],
  count: number | undefined,
  send: () => Promise<Result>,
): Promise<Result> {
  const span = openSpan({ operation: 'send', name: 'send', job, count });
  try {
    const sent = await span.within(send);
    span.end(undefined, { 'messaging.message.id': (sent as Partial<Sent>).jobId });
    return sent;
  } catch (error) {
    span.end({ type: error instanceof Error ? error.name : '_OTHER' });
    throw error;
  }
}

/** A span's name should have few values. */
function onlyTypeIn(jobs: readonly { readonly type: string }[]): string | undefined {
  const [type, ...others] = new Set(jobs.map((job) => job.type));
  return others.length === 0 ? type : undefined;
}

function queueAt(
  given: string | undefined,
  { fair }: Settings,
  { region, credentials, endpoint }: AwsOptions,
): JobQueue {
  const queueUrl = queueUrlOf(given);
  if (!URL.canParse(queueUrl ?? '')) throw new SettingsError([queueProblem('producer', queueUrl)]);
  const client = createSqsClient(defined({ region, credentials, endpoint }), { polls: false });
  const pools = routingOf(given)?.pools;
  return createSqsQueue({
    client,
    clock: systemClock,
    fair,
    queueUrl: queueUrl ?? '',
    urlFor: pools && ((type) => queueUrlFor(queueUrl ?? '', pools, type)),
  });
}

/** The worker stores jobs with longer delays. */
function delayOf(notBefore: number | undefined, now: number): { delaySeconds?: number } {
  const delayMs = (notBefore ?? now) - now;
  return delayMs > 0 && delayMs <= MAX_HINT_DELAY_MS ? { delaySeconds: Math.ceil(delayMs / 1000) } : {};
}
