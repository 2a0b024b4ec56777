import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
} from '@aws-sdk/client-sqs';
import { QueueUnavailableError } from '../../protocol/errors.ts';
import type { JobQueue, ReceivedMessage } from '../../protocol/ports.ts';
import { hintBody } from '../../wire/message.ts';
import { TRACEPARENT, traceOf } from '../../wire/trace.ts';
import { MAX_ENTRIES, type SqsQueueOptions, sendMessages } from './send-messages.ts';

/** The job queue on SQS. */
export function createSqsQueue(options: SqsQueueOptions): JobQueue {
  const { client, queueUrl } = options;
  return {
    sendJobs: (messages) => sendMessages(options, messages),

    async sendHints(hints) {
      const outcomes = await sendMessages(
        options,
        hints.map(({ jobId, type, delaySeconds }) => ({ body: hintBody(jobId, type), delaySeconds })),
      );
      const failed = hints.filter((_, i) => outcomes[i]?.outcome === 'failed').map(({ jobId }) => jobId);
      const reason = outcomes.find((each) => each.outcome === 'failed')?.reason;
      return { sent: hints.length - failed.length, failed, reason };
    },

    async receive({ max, waitSeconds, signal }) {
      try {
        const reply = await client.send(
          new ReceiveMessageCommand({
            QueueUrl: queueUrl,
            MaxNumberOfMessages: Math.min(max, MAX_ENTRIES),
            WaitTimeSeconds: waitSeconds,
            MessageSystemAttributeNames: ['SentTimestamp', 'ApproximateReceiveCount', 'AWSTraceHeader'],
            MessageAttributeNames: [TRACEPARENT],
          }),
          signal === undefined ? {} : { abortSignal: signal },
        );
        return (reply.Messages ?? []).map(
          (message): ReceivedMessage => ({
            messageId: message.MessageId ?? '',
            receiptHandle: message.ReceiptHandle ?? '',
            body: message.Body ?? '',
            sentAt: Number(message.Attributes?.SentTimestamp ?? 0),
            receiveCount: Number(message.Attributes?.ApproximateReceiveCount ?? 1),
            trace: traceOf({
              traceparent: message.MessageAttributes?.[TRACEPARENT]?.StringValue,
              awsTraceHeader: message.Attributes?.AWSTraceHeader,
            }),
          }),
        );
      } catch (error) {
        // Whoever ended the poll wants no messages; nothing is wrong with the queue.
        if (signal?.aborted) return [];
        throw new QueueUnavailableError('ReceiveMessage', error);
      }
    },

    async delete(messages) {
      await inBatches(messages, 'DeleteMessageBatch', (Entries) =>
        client.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries })),
      );
    },

    async changeVisibility(messages, seconds) {
      await inBatches(messages, 'ChangeMessageVisibilityBatch', (entries) =>
        client.send(
          new ChangeMessageVisibilityBatchCommand({
            QueueUrl: queueUrl,
            Entries: entries.map((entry) => ({ ...entry, VisibilityTimeout: seconds })),
          }),
        ),
      );
    },
  };
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
      // The other batches may well succeed.
      failure ??= new QueueUnavailableError(operation, error);
    }
  }
  if (failure !== undefined) throw failure;
}
