import { SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { QueueUnavailableError } from '../../protocol/errors.ts';
import type { Clock, SentMessage } from '../../protocol/ports.ts';
import { asPlainJson } from '../plain-json.ts';

/** SQS takes at most this many entries, and this many bytes, in one request. */
export const MAX_ENTRIES = 10;
const MAX_REQUEST_BYTES = 256 * 1024;
/** Rounds of sending: the first, and repeats of the entries that SQS refused for a passing reason. */
const SEND_ROUNDS = 3;
const PAUSE_BETWEEN_ROUNDS_MS = 100;
const REQUESTS_AT_ONCE = 8;

export interface SqsQueueOptions {
  readonly client: SQSClient;
  readonly queueUrl: string;
  readonly clock: Pick<Clock, 'sleep'>;
}

interface OutgoingMessage {
  readonly body: string;
  readonly delaySeconds?: number;
  readonly awsTraceHeader?: string;
}

/** Final is what another round would not change: the sender's own fault, or a queue that left the SDK's repeats unanswered. */
type Sending = SentMessage & { readonly isFinal?: boolean };

/** Sends messages, ten a request; entries that SQS refused for a reason that is not their own are sent again. */
export async function sendMessages(
  to: SqsQueueOptions,
  messages: readonly OutgoingMessage[],
): Promise<SentMessage[]> {
  const outcomes: Sending[] = messages.map(() => ({
    outcome: 'failed',
    reason: 'not sent',
    isFinal: false,
  }));
  let open = messages.map((_, i) => i);
  for (let round = 0; round < SEND_ROUNDS && open.length > 0; round++) {
    if (round > 0) await to.clock.sleep(PAUSE_BETWEEN_ROUNDS_MS * round);
    await eachBatch(open, messages, async (batch) => {
      const replies = await sendBatch(
        to,
        batch.map((i) => messages[i] as OutgoingMessage),
      );
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

/** Sends one batch and returns an outcome for each entry; a request that fails as a whole fails every entry. */
async function sendBatch(
  { client, queueUrl }: SqsQueueOptions,
  batch: readonly OutgoingMessage[],
): Promise<Sending[]> {
  try {
    const command = new SendMessageBatchCommand({
      QueueUrl: queueUrl,
      Entries: batch.map(({ body, delaySeconds, awsTraceHeader }, i) => ({
        Id: String(i),
        MessageBody: body,
        DelaySeconds: delaySeconds || undefined,
        MessageSystemAttributes: systemAttributesOf(awsTraceHeader),
      })),
    });
    const reply = await client.send(asPlainJson(command, 'AmazonSQS.SendMessageBatch'));
    const sent = new Map(reply.Successful?.map((entry) => [entry.Id, entry.MessageId]));
    const failed = new Map(reply.Failed?.map((entry) => [entry.Id, entry]));
    return batch.map((_, i) => {
      const messageId = sent.get(String(i));
      if (messageId !== undefined) return { outcome: 'sent', messageId };
      const failure = failed.get(String(i));
      return {
        outcome: 'failed',
        reason: `${failure?.Code ?? 'NoReply'}: ${failure?.Message ?? 'SQS said nothing of this entry'}`,
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

/** Cuts the chosen messages into requests that SQS takes, by number and by bytes, and runs several at once. */
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
