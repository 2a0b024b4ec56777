import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteMessageBatchCommand,
  type Message,
  QueueDoesNotExist,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSEvent, SQSRecord } from 'aws-lambda';
import { failedMessages } from './batch-response.ts';
import type { LambdaFunction } from './lambda-function.ts';

export interface EventSourceMappingOptions {
  readonly client: SQSClient;
  readonly queueUrl: string;
  readonly queueArn: string;
  readonly target: LambdaFunction;
  readonly batchSize: number;
  /** 0 passes on the messages of one poll. */
  readonly batchWindowMs: number;
  readonly onError?: (error: unknown) => void;
}

const MAX_MESSAGES = 10;
const LONG_POLL_SECONDS = 20;
const PAUSE_AFTER_ERROR_MS = 500;
const PAUSE_WHEN_THROTTLED_MS = 50;

export type EventSourceMapping = ReturnType<typeof startEventSourceMapping>;

/** Polls as Lambda does. One poll at a time, because the local engine wakes every waiting poll for one message. */
export function startEventSourceMapping(options: EventSourceMappingOptions) {
  const { target, batchSize, onError = () => {} } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const underWay = new Set<Promise<void>>();

  const poll = async (): Promise<void> => {
    while (!signal.aborted) {
      await target.whenFree(signal);
      if (signal.aborted) return;
      try {
        const messages = await gather(options, signal);
        for (let start = 0; start < messages.length; start += batchSize) {
          const batch = run(options, messages.slice(start, start + batchSize), signal).catch(onError);
          underWay.add(batch);
          void batch.finally(() => underWay.delete(batch));
        }
      } catch (error) {
        if (signal.aborted) return;
        onError(error);
        if (error instanceof QueueDoesNotExist) return;
        await pause(PAUSE_AFTER_ERROR_MS, signal);
      }
    }
  };
  const polling = poll();

  return {
    async stop(): Promise<void> {
      stopping.abort();
      await polling;
      await Promise.all(underWay);
    },
  };
}

async function gather(options: EventSourceMappingOptions, signal: AbortSignal): Promise<Message[]> {
  const { client, queueUrl, target, batchSize, batchWindowMs } = options;
  const receive = async (max: number, waitSeconds: number): Promise<Message[]> => {
    const reply = await client.send(
      new ReceiveMessageCommand({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: Math.min(max, MAX_MESSAGES),
        WaitTimeSeconds: waitSeconds,
        MessageSystemAttributeNames: ['All'],
        MessageAttributeNames: ['All'],
      }),
      { abortSignal: signal },
    );
    return reply.Messages ?? [];
  };
  const wanted = target.free() * batchSize;
  const messages = await receive(wanted, LONG_POLL_SECONDS);
  if (messages.length === 0) return messages;
  const windowEndsAt = performance.now() + batchWindowMs;
  while (messages.length < Math.min(wanted, batchSize) && performance.now() < windowEndsAt) {
    const left = Math.ceil((windowEndsAt - performance.now()) / 1000);
    messages.push(...(await receive(batchSize - messages.length, Math.min(left, 1))));
  }
  return messages;
}

async function run(
  { client, queueUrl, queueArn, target }: EventSourceMappingOptions,
  batch: readonly Message[],
  signal: AbortSignal,
): Promise<void> {
  const event: SQSEvent = { Records: batch.map((message) => toRecord(message, queueArn)) };
  let result = await target.invoke(event);
  while (result.outcome === 'throttled' && !signal.aborted) {
    await pause(PAUSE_WHEN_THROTTLED_MS, signal);
    result = await target.invoke(event);
  }
  if (result.outcome !== 'response') return;
  const failed = failedMessages(
    result.payload,
    event.Records.map(({ messageId }) => messageId),
  );
  const done = batch.filter(({ MessageId }) => !failed.has(MessageId ?? ''));
  if (done.length === 0) return;
  const Entries = done.map(({ ReceiptHandle }, i) => ({ Id: String(i), ReceiptHandle }));
  await client.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries }));
}

function toRecord(message: Message, queueArn: string): SQSRecord {
  return {
    messageId: message.MessageId ?? '',
    receiptHandle: message.ReceiptHandle ?? '',
    body: message.Body ?? '',
    attributes: { ...message.Attributes } as unknown as SQSRecord['attributes'],
    messageAttributes: Object.fromEntries(
      Object.entries(message.MessageAttributes ?? {}).map(([name, value]) => [
        name,
        {
          dataType: value.DataType ?? 'String',
          stringValue: value.StringValue,
          binaryValue: value.BinaryValue && Buffer.from(value.BinaryValue).toString('base64'),
          stringListValues: [],
          binaryListValues: [],
        },
      ]),
    ) as SQSRecord['messageAttributes'],
    md5OfBody: message.MD5OfBody ?? '',
    eventSource: 'aws:sqs',
    eventSourceARN: queueArn,
    awsRegion: queueArn.split(':')[3] ?? '',
  };
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => {});
