import type { SQSClient } from '@aws-sdk/client-sqs';
import { QueueUnavailableError } from '../../protocol/errors.ts';

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
  readonly policy?: string;
  readonly redrive?: { readonly deadLetterArn: string; readonly maxReceiveCount: number };
}

export const isAbsentQueue = (error: unknown): boolean =>
  error instanceof QueueUnavailableError &&
  error.cause instanceof Error &&
  /NonExistentQueue|QueueDoesNotExist/.test(error.cause.name);

export type QueueCounts = Pick<QueueDescription, 'visible' | 'inFlight' | 'delayed'>;

export async function describeQueue(client: SQSClient, queueUrl: string): Promise<QueueDescription> {
  try {
    const { GetQueueAttributesCommand } = await sdk();
    const reply = await client.send(
      new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['All'] }),
    );
    const given = (reply.Attributes ?? {}) as Readonly<Record<string, string>>;
    const number = (name: string) => Number(given[name] ?? 0);
    const redrive = parseRedrive(given.RedrivePolicy);
    return {
      arn: given.QueueArn ?? '',
      visible: number('ApproximateNumberOfMessages'),
      inFlight: number('ApproximateNumberOfMessagesNotVisible'),
      delayed: number('ApproximateNumberOfMessagesDelayed'),
      visibilityTimeoutMs: number('VisibilityTimeout') * 1000,
      retentionMs: number('MessageRetentionPeriod') * 1000,
      maxMessageBytes: number('MaximumMessageSize'),
      isFifo: given.FifoQueue === 'true',
      policy: given.Policy,
      redrive,
    };
  } catch (error) {
    throw new QueueUnavailableError('GetQueueAttributes', error);
  }
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
  try {
    const { ListDeadLetterSourceQueuesCommand } = await sdk();
    const reply = await client.send(new ListDeadLetterSourceQueuesCommand({ QueueUrl: deadLetterUrl }));
    return reply.queueUrls ?? [];
  } catch (error) {
    throw new QueueUnavailableError('ListDeadLetterSourceQueues', error);
  }
}

/** Only in the same account and region. */
export async function queueUrlOf(client: SQSClient, arn: string): Promise<string> {
  try {
    const { GetQueueUrlCommand } = await sdk();
    const reply = await client.send(new GetQueueUrlCommand({ QueueName: arn.split(':').at(-1) ?? '' }));
    return reply.QueueUrl ?? '';
  } catch (error) {
    throw new QueueUnavailableError('GetQueueUrl', error);
  }
}
