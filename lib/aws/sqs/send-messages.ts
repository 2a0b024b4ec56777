import { SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { QueueUnavailableError } from '../../protocol/errors.ts';
import type { Clock, OutgoingMessage, SentMessage } from '../../protocol/ports.ts';

/** SQS limits. */
export const MAX_ENTRIES = 10;
const MAX_REQUEST_BYTES = 256 * 1024;
/** Including retries of entries that SQS refused temporarily. */
const SEND_ROUNDS = 3;
const PAUSE_BETWEEN_ROUNDS_MS = 100;
const REQUESTS_AT_ONCE = 8;

export interface SqsQueueOptions {
  readonly client: SQSClient;
  readonly queueUrl: string;
  readonly clock: Pick<Clock, 'sleep'>;
  /** @default - `queueUrl` for all */
  readonly urlFor?: (type: string | undefined) => string;
  /** Whether keys become message groups. @default false */
  readonly fair?: boolean;
}

/** Final: the sender's fault, or no answer after the SDK's retries. */
type Sending = SentMessage & { readonly isFinal?: boolean };

export async function sendRouted(
  { urlFor, ...to }: SqsQueueOptions,
  messages: readonly OutgoingMessage[],
): Promise<SentMessage[]> {
  if (urlFor === undefined) return sendMessages(to, messages);
  const outcomes: SentMessage[] = [];
  const byQueue = Map.groupBy(messages.keys(), (i) => urlFor(messages[i]?.type));
  await Promise.all(
    [...byQueue].map(async ([queueUrl, chosen]) => {
      const some = chosen.map((i) => messages[i] as OutgoingMessage);
      const sent = await sendMessages({ ...to, queueUrl }, some);
      for (const [k, i] of chosen.entries()) outcomes[i] = sent[k] as SentMessage;
    }),
  );
  return outcomes;
}

async function sendMessages(
  to: Omit<SqsQueueOptions, 'urlFor'>,
  messages: readonly OutgoingMessage[],
): Promise<SentMessage[]> {
  const outcomes: Sending[] = messages.map(() => ({ outcome: 'failed', reason: 'not sent' }));
  let open = messages.map((_, i) => i);
  for (let round = 0; round < SEND_ROUNDS && open.length > 0; round++) {
    if (round > 0) await to.clock.sleep(PAUSE_BETWEEN_ROUNDS_MS * round);
    await eachBatch(open, messages, async (batch) => {
      const some = batch.map((i) => messages[i] as OutgoingMessage);
      const replies = await sendBatch(to, some);
      for (const [k, i] of batch.entries()) outcomes[i] = replies[k] as Sending;
    });
    open = open.filter((i) => {
      const outcome = outcomes[i] as Sending;
      return outcome.outcome === 'failed' && !outcome.isFinal;
    });
  }
  return outcomes.map((outcome) =>
    outcome.outcome === 'sent'
      ? outcome
      : { outcome: 'failed', reason: outcome.reason, error: outcome.error },
  );
}

const systemAttributesOf = (awsTraceHeader: string | undefined) =>
  awsTraceHeader === undefined
    ? undefined
    : { AWSTraceHeader: { DataType: 'String', StringValue: awsTraceHeader } };

/** A request that fails as a whole fails every entry. */
async function sendBatch(
  { client, queueUrl, fair }: Omit<SqsQueueOptions, 'urlFor'>,
  batch: readonly OutgoingMessage[],
): Promise<Sending[]> {
  try {
    const command = new SendMessageBatchCommand({
      QueueUrl: queueUrl,
      Entries: batch.map(({ body, key, delaySeconds, awsTraceHeader }, i) => ({
        Id: String(i),
        MessageBody: body,
        DelaySeconds: delaySeconds || undefined,
        MessageGroupId: fair ? key : undefined,
        MessageSystemAttributes: systemAttributesOf(awsTraceHeader),
      })),
    });
    const reply = await client.send(command);
    const sent = new Map(reply.Successful?.map((entry) => [entry.Id, entry.MessageId]));
    const failed = new Map(reply.Failed?.map((entry) => [entry.Id, entry]));
    return batch.map((_, i) => {
      const messageId = sent.get(String(i));
      if (messageId !== undefined) return { outcome: 'sent', messageId };
      const failure = failed.get(String(i));
      return {
        outcome: 'failed',
        reason: `${failure?.Code ?? 'NoReply'}: ${failure?.Message ?? 'SQS returned no result for this entry'}`,
        isFinal: failure?.SenderFault === true,
      };
    });
  } catch (error) {
    const unavailable = new QueueUnavailableError('SendMessageBatch', error);
    return batch.map(() => ({
      outcome: 'failed',
      reason: unavailable.message,
      error: unavailable,
      isFinal: error instanceof Error && error.name === 'TimeoutError',
    }));
  }
}

async function eachBatch(
  chosen: readonly number[],
  messages: readonly OutgoingMessage[],
  run: (batch: number[]) => Promise<void>,
): Promise<void> {
  const batches: number[][] = [];
  let bytes = 0;
  for (const i of chosen) {
    const size = Buffer.byteLength(messages[i]?.body ?? '');
    const current = batches.at(-1);
    if (current === undefined || current.length === MAX_ENTRIES || bytes + size > MAX_REQUEST_BYTES) {
      batches.push([i]);
      bytes = size;
    } else {
      current.push(i);
      bytes += size;
    }
  }
  for (let start = 0; start < batches.length; start += REQUESTS_AT_ONCE)
    await Promise.all(batches.slice(start, start + REQUESTS_AT_ONCE).map(run));
}
