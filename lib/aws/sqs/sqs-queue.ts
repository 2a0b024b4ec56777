import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
} from '@aws-sdk/client-sqs';
import { QueueUnavailableError } from '../../protocol/errors.ts';
import type { JobQueue, ReceivedMessage } from '../../protocol/ports.ts';
import { waitAtMost } from '../../protocol/wait-at-most.ts';
import { hintBody } from '../../wire/message.ts';
import { TRACEPARENT, traceOf } from '../../wire/trace.ts';
import { answered } from './answered.ts';
import { MAX_ENTRIES, type SqsQueueOptions, sendRouted } from './send-messages.ts';

/** Beyond the requested wait: a poll lost in the network must not block the next. */
const ANSWER_MS = 2000;

export function createSqsQueue(options: SqsQueueOptions): JobQueue {
  const { client, queueUrl } = options;
  const changeVisibility: JobQueue['changeVisibility'] = (messages, seconds) =>
    inBatches(messages, 'ChangeMessageVisibilityBatch', (entries) =>
      client.send(
        new ChangeMessageVisibilityBatchCommand({
          QueueUrl: queueUrl,
          Entries: entries.map((entry) => ({ ...entry, VisibilityTimeout: seconds })),
        }),
      ),
    );
  return {
    sendJobs: (messages) => sendRouted(options, messages),

    async sendHints(hints) {
      const messages = hints.map((hint) => ({ ...hint, body: hintBody(hint) }));
      const outcomes = await sendRouted(options, messages);
      const failed = hints.filter((_, i) => outcomes[i]?.outcome === 'failed').map(({ jobId }) => jobId);
      const reason = outcomes.find((each) => each.outcome === 'failed')?.reason;
      return { sent: hints.length - failed.length, failed, reason };
    },

    async receive({ max, waitSeconds, signal }) {
      if (signal?.aborted) return [];
      const polling = poll(options, Math.min(max, MAX_ENTRIES), waitSeconds);
      // An `abortSignal` option would make the SDK rebuild its middleware.
      const patienceMs = waitSeconds * 1000 + ANSWER_MS;
      const messages = await waitAtMost(patienceMs, polling, options.clock, signal);
      if (messages !== undefined) return messages;
      polling.then((late) => changeVisibility(late, 0)).catch(() => {});
      if (signal?.aborted) return [];
      throw new QueueUnavailableError('ReceiveMessage', new Error(`no answer within ${patienceMs} ms`));
    },

    async delete(messages) {
      await inBatches(messages, 'DeleteMessageBatch', (Entries) =>
        client.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries })),
      );
    },

    changeVisibility,
  };
}

async function poll(
  { client, queueUrl }: SqsQueueOptions,
  max: number,
  waitSeconds: number,
): Promise<ReceivedMessage[]> {
  const command = new ReceiveMessageCommand({
    QueueUrl: queueUrl,
    MaxNumberOfMessages: max,
    WaitTimeSeconds: waitSeconds,
    MessageSystemAttributeNames: ['SentTimestamp', 'ApproximateReceiveCount', 'AWSTraceHeader'],
    MessageAttributeNames: [TRACEPARENT],
  });
  const { Messages = [] } = await answered('ReceiveMessage', client.send(command));
  return Messages.map((message) => ({
    messageId: message.MessageId ?? '',
    receiptHandle: message.ReceiptHandle ?? '',
    body: message.Body ?? '',
    sentAt: Number(message.Attributes?.SentTimestamp ?? 0),
    receiveCount: Number(message.Attributes?.ApproximateReceiveCount ?? 1),
    trace: traceOf({
      traceparent: message.MessageAttributes?.[TRACEPARENT]?.StringValue,
      awsTraceHeader: message.Attributes?.AWSTraceHeader,
    }),
  }));
}

async function inBatches(
  messages: readonly Pick<ReceivedMessage, 'receiptHandle'>[],
  operation: string,
  send: (entries: { Id: string; ReceiptHandle: string }[]) => Promise<unknown>,
): Promise<void> {
  let failure: QueueUnavailableError | undefined;
  for (let start = 0; start < messages.length; start += MAX_ENTRIES) {
    const batch = messages.slice(start, start + MAX_ENTRIES);
    try {
      await send(batch.map(({ receiptHandle }, i) => ({ Id: String(i), ReceiptHandle: receiptHandle })));
    } catch (error) {
      // Other batches may still succeed.
      failure ??= new QueueUnavailableError(operation, error);
    }
  }
  if (failure !== undefined) throw failure;
}
