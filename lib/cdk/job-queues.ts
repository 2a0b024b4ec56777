import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { type IQueue, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { Settings } from '../settings/settings.ts';
import { deadLetterQueueAttributes, jobQueueAttributes, wakeQueueAttributes } from '../wire/queues.ts';
import { acknowledge } from './acknowledge.ts';
import { adoptQueue } from './adopt-queue.ts';
import type { ResourceProps } from './props/leasehold-jobs-props.ts';

export interface JobQueues {
  readonly queue: IQueue;
  readonly deadLetterQueue: Queue;
}

export function addQueues(
  scope: Construct,
  settings: Settings,
  props: QueueProps & Pick<ResourceProps, 'queue'>,
): JobQueues {
  const dead = deadLetterQueueAttributes(settings);
  const deadLetterQueue = new Queue(scope, 'DeadLetterQueue', {
    ...common(props),
    retentionPeriod: Duration.seconds(dead.retentionSeconds),
    visibilityTimeout: Duration.seconds(dead.visibilityTimeoutSeconds),
  });
  const { queue: given, encryptionKey: key } = props;
  const queue =
    given === undefined
      ? addJobQueue(scope, settings, { ...props, deadLetterQueue })
      : adoptQueue(scope, given, { deadLetterQueue, key, settings });
  return { queue, deadLetterQueue };
}

type QueueProps = Pick<ResourceProps, 'encryptionKey' | 'removalPolicy'>;

export function addJobQueue(
  scope: Construct,
  settings: Settings,
  { deadLetterQueue, ...props }: QueueProps & { readonly deadLetterQueue: Queue },
): Queue {
  const jobs = jobQueueAttributes(settings);
  return new Queue(scope, 'Queue', {
    ...common(props),
    retentionPeriod: Duration.seconds(jobs.retentionSeconds),
    visibilityTimeout: Duration.seconds(jobs.visibilityTimeoutSeconds),
    maxMessageSizeBytes: jobs.maxMessageBytes,
    receiveMessageWaitTime: Duration.seconds(jobs.receiveWaitSeconds),
    deadLetterQueue: { queue: deadLetterQueue, maxReceiveCount: jobs.maxReceiveCount },
  });
}

const common = ({ encryptionKey, removalPolicy = RemovalPolicy.RETAIN }: QueueProps) => ({
  enforceSSL: true,
  removalPolicy,
  ...(encryptionKey === undefined
    ? { encryption: QueueEncryption.SQS_MANAGED }
    : { encryption: QueueEncryption.KMS, encryptionMasterKey: encryptionKey }),
});

/** Holds no job data, so it does not use the customer's key. */
export function addWakeQueue(scope: Construct): Queue {
  const queue = new Queue(scope, 'WakeQueue', {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    visibilityTimeout: Duration.seconds(wakeQueueAttributes.visibilityTimeoutSeconds),
    retentionPeriod: Duration.seconds(wakeQueueAttributes.retentionSeconds),
  });
  acknowledge(
    queue,
    'AwsSolutions-SQS3',
    'The schedule makes up for a lost wake within a minute, so dead wakes are not kept.',
  );
  return queue;
}
