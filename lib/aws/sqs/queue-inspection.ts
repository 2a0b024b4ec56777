import type { SQSClient } from '@aws-sdk/client-sqs';
import { QueueUnavailableError } from '../../protocol/errors.ts';
import { answered } from './answered.ts';

/** Keeps CLI help from loading an SDK. */
const sdk = () => import('@aws-sdk/client-sqs');

export interface QueueDescription {
  readonly arn: string;
  readonly visible: number;
  readonly inFlight: number;
  readonly delayed: number;
  readonly visibilityTimeoutMs: number;
  readonly retentionMs: number;
  readonly maxMessageBytes: number;
  readonly isFifo: boolean;
  readonly redrive?: { readonly deadLetterArn: string; readonly maxReceiveCount: number };
}

export const isAbsentQueue = (error: unknown): boolean =>
  error instanceof QueueUnavailableError &&
  error.cause instanceof Error &&
  /NonExistentQueue|QueueDoesNotExist/.test(error.cause.name);

export type QueueCounts = Pick<QueueDescription, 'visible' | 'inFlight' | 'delayed'>;

export async function describeQueue(client: SQSClient, queueUrl: string): Promise<QueueDescription> {
  const { GetQueueAttributesCommand } = await sdk();
  const command = new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['All'] });
  const reply = await answered('GetQueueAttributes', client.send(command));
  const given = (reply.Attributes ?? {}) as Readonly<Record<string, string>>;
  const number = (name: string) => Number(given[name] ?? 0);
  return {
    arn: given.QueueArn ?? '',
    visible: number('ApproximateNumberOfMessages'),
    inFlight: number('ApproximateNumberOfMessagesNotVisible'),
    delayed: number('ApproximateNumberOfMessagesDelayed'),
    visibilityTimeoutMs: number('VisibilityTimeout') * 1000,
    retentionMs: number('MessageRetentionPeriod') * 1000,
    maxMessageBytes: number('MaximumMessageSize'),
    isFifo: given.FifoQueue === 'true',
    redrive: parseRedrive(given.RedrivePolicy),
  };
}

function parseRedrive(text: string | undefined): QueueDescription['redrive'] {
  if (text === undefined || text === '') return undefined;
  const policy = JSON.parse(text) as { deadLetterTargetArn?: string; maxReceiveCount?: number | string };
  return {
    deadLetterArn: policy.deadLetterTargetArn ?? '',
    maxReceiveCount: Number(policy.maxReceiveCount ?? 0),
  };
}

export async function sourceQueuesOf(client: SQSClient, deadLetterUrl: string): Promise<readonly string[]> {
  const { ListDeadLetterSourceQueuesCommand } = await sdk();
  const command = new ListDeadLetterSourceQueuesCommand({ QueueUrl: deadLetterUrl });
  return (await answered('ListDeadLetterSourceQueues', client.send(command))).queueUrls ?? [];
}

/** Only in the same account and region. */
export async function queueUrlOf(client: SQSClient, arn: string): Promise<string> {
  const { GetQueueUrlCommand } = await sdk();
  const command = new GetQueueUrlCommand({ QueueName: arn.split(':').at(-1) ?? '' });
  return (await answered('GetQueueUrl', client.send(command))).QueueUrl ?? '';
}
