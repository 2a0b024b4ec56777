import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  QueueDoesNotExist,
  SetQueueAttributesCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { Settings } from '../../settings/settings.ts';
import { deadLetterQueueAttributes, jobQueueAttributes, wakeQueueAttributes } from '../../wire/queues.ts';

interface LocalQueue {
  readonly url: string;
  readonly arn: string;
}

export interface LocalQueues {
  readonly queue: LocalQueue;
  readonly deadLetterQueue: LocalQueue;
  readonly wakeQueue: LocalQueue;
  readonly pools: Readonly<Record<string, LocalQueue>>;
}

/** Existing queues of kept data get the current attributes. */
export async function createLocalQueues(
  client: SQSClient,
  name: string,
  settings: Settings,
  pools: readonly string[] = [],
): Promise<LocalQueues> {
  const dead = deadLetterQueueAttributes(settings);
  const deadLetterQueue = await ensureQueue(client, `${name}-dead-letter`, {
    VisibilityTimeout: String(dead.visibilityTimeoutSeconds),
    MessageRetentionPeriod: String(dead.retentionSeconds),
  });
  const jobs = jobQueueAttributes(settings);
  const jobQueue = (queueName: string) =>
    ensureQueue(client, queueName, {
      VisibilityTimeout: String(jobs.visibilityTimeoutSeconds),
      MessageRetentionPeriod: String(jobs.retentionSeconds),
      MaximumMessageSize: String(jobs.maxMessageBytes),
      ReceiveMessageWaitTimeSeconds: String(jobs.receiveWaitSeconds),
      RedrivePolicy: JSON.stringify({
        deadLetterTargetArn: deadLetterQueue.arn,
        maxReceiveCount: jobs.maxReceiveCount,
      }),
    });
  const queue = await jobQueue(name);
  const poolQueues: Record<string, LocalQueue> = {};
  for (const pool of pools) poolQueues[pool] = await jobQueue(`${name}-pool-${pool}`);
  const wakeQueue = await ensureQueue(client, `${name}-wake`, {
    VisibilityTimeout: String(wakeQueueAttributes.visibilityTimeoutSeconds),
    MessageRetentionPeriod: String(wakeQueueAttributes.retentionSeconds),
  });
  return { queue, deadLetterQueue, wakeQueue, pools: poolQueues };
}

async function ensureQueue(
  client: SQSClient,
  name: string,
  attributes: Record<string, string>,
): Promise<LocalQueue> {
  const found = await findQueue(client, name);
  if (found !== undefined)
    await client.send(new SetQueueAttributesCommand({ QueueUrl: found, Attributes: attributes }));
  const url =
    found ??
    (await client.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes }))).QueueUrl ??
    '';
  const reply = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['QueueArn'] }),
  );
  return { url, arn: reply.Attributes?.QueueArn ?? '' };
}

async function findQueue(client: SQSClient, name: string): Promise<string | undefined> {
  try {
    return (await client.send(new GetQueueUrlCommand({ QueueName: name }))).QueueUrl;
  } catch (error) {
    if (error instanceof QueueDoesNotExist) return undefined;
    throw error;
  }
}
