import '../../node-version.ts';
import { systemClock } from '../../aws/clock.ts';
import { createSqsClient } from '../../aws/sqs/client.ts';
import { createSqsQueue } from '../../aws/sqs/sqs-queue.ts';
import { QueueUnavailableError } from '../../protocol/errors.ts';
import type { Clock, JobQueue, SentMessage } from '../../protocol/ports.ts';
import { defaultSettings, type Settings } from '../../settings/settings.ts';
import { SettingsError } from '../../settings/settings-error.ts';
import { resourceVariables } from '../../wire/environment.ts';
import { quoted, type SendOptions } from '../../wire/message.ts';
import { MAX_HINT_DELAY_MS } from '../../wire/queues.ts';
import type { PayloadIn, Registry, TypeIn } from '../../worker/registry.ts';
import { checkMessage, MessageRefusedError } from './check-message.ts';

export { MessageRefusedError };

/** A job that SQS has taken. */
export interface Sent<Type extends string = string> {
  readonly type: Type;
  /** The id under which the job is found: the one asked for, else a new one. */
  readonly jobId: string;
  readonly messageId: string;
}

/** One job to send. */
export type Outgoing<R extends Registry> = {
  [Type in TypeIn<R>]: {
    readonly type: Type;
    readonly payload: PayloadIn<R, Type>;
    readonly options?: SendOptions;
  };
}[TypeIn<R>];

/** What became of one job of `sendMany`. */
export type SendOutcome =
  | ({ readonly outcome: 'sent' } & Omit<Sent, 'type'>)
  | { readonly outcome: 'failed'; readonly reason: string };

/** Sends jobs. */
export interface Producer<R extends Registry> {
  /** Sends one job, or throws: nothing is sent that a worker would reject. */
  send<Type extends TypeIn<R>>(
    type: Type,
    payload: PayloadIn<R, Type>,
    options?: SendOptions,
  ): Promise<Sent<Type>>;
  /** Sends many, 10 a request. Throws before sending any if one of them would be rejected. */
  sendMany(jobs: readonly Outgoing<R>[]): Promise<readonly SendOutcome[]>;
}

/** What a producer is made of. */
export interface ProducerOptions<R extends Registry> {
  /** Checks types and payloads before they are sent. @default - the worker checks them */
  readonly registry?: R;
  /** The job queue: its URL, or a queue that is put together already. */
  readonly queue: string | Pick<JobQueue, 'sendJobs'>;
  /** The worker's limits. @default - the default settings */
  readonly settings?: Settings;
  readonly clock?: Pick<Clock, 'now'>;
}

/** Sends the same messages as a plain `SendMessage` would, with types and checks from the registry. */
export function createProducer<R extends Registry = Registry>(options: ProducerOptions<R>): Producer<R> {
  const { registry, settings = defaultSettings, clock = systemClock } = options;
  const queue = typeof options.queue === 'string' ? queueAt(options.queue) : options.queue;

  const messageFor = async (type: string, payload: unknown, own?: SendOptions) => {
    const { jobId, body, message, at, awsTraceHeader } = await checkMessage(
      { registry, settings, clock },
      type,
      payload,
      own,
    );
    return { jobId, body, awsTraceHeader, ...delayOf(message.notBefore, at) };
  };

  return {
    async send(type, payload, sendOptions) {
      const message = await messageFor(type, payload, sendOptions);
      const [sent] = await queue.sendJobs([message]);
      if (sent?.outcome !== 'sent')
        throw sent?.error ?? new QueueUnavailableError('SendMessage', new Error(sent?.reason ?? 'no answer'));
      return { type, messageId: sent.messageId, jobId: message.jobId };
    },
    async sendMany(jobs) {
      const messages = await Promise.all(
        jobs.map(({ type, payload, options: own }) => messageFor(type, payload, own)),
      );
      const sent: readonly SentMessage[] = await queue.sendJobs(messages);
      return sent.map((each, i) =>
        each.outcome === 'sent'
          ? {
              outcome: 'sent',
              messageId: each.messageId,
              jobId: messages[i]?.jobId ?? each.messageId,
            }
          : { outcome: 'failed', reason: each.reason },
      );
    },
  };
}

function queueAt(queueUrl: string): JobQueue {
  if (!URL.canParse(queueUrl))
    throw new SettingsError([
      `the producer's queue is ${quoted(queueUrl)}; it must be the URL of the job queue: the stack's output QueueUrl, or locally what 'leasehold env' prints as ${resourceVariables.queueUrl}`,
    ]);
  return createSqsQueue({ client: createSqsClient({}, { polls: false }), queueUrl, clock: systemClock });
}

/** A delay that SQS can keep needs no row until the job is due; the worker keeps longer ones. */
function delayOf(notBefore: number | undefined, now: number): { delaySeconds?: number } {
  const delayMs = (notBefore ?? now) - now;
  return delayMs > 0 && delayMs <= MAX_HINT_DELAY_MS ? { delaySeconds: Math.ceil(delayMs / 1000) } : {};
}
