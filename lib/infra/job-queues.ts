import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { Settings } from '../jobs/settings.ts';
import { DEAD_LETTER_TIMEOUT } from './functions.ts';
import type { ResourceProps } from './leasehold-jobs-props.ts';

/** What a message carries around its payload: type, id, times, budgets, and the JSON between them. */
const ENVELOPE_BYTES = 4 * 1024;

/** AWS asks for a visibility timeout of six times the consumer's, so that throttled batches are not delivered twice. */
const CONSUMER_TIMEOUTS = 6;

export interface JobQueues {
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
}

/** The queue of job messages and hints, and the one for messages that no worker ever claimed. */
export function createQueues(
  scope: Construct,
  settings: Settings,
  props: Pick<ResourceProps, 'encryptionKey' | 'removalPolicy'>,
): JobQueues {
  const { encryptionKey, removalPolicy = RemovalPolicy.RETAIN } = props;
  const shared = {
    enforceSSL: true,
    removalPolicy,
    ...(encryptionKey === undefined
      ? { encryption: QueueEncryption.SQS_MANAGED }
      : { encryption: QueueEncryption.KMS, encryptionMasterKey: encryptionKey }),
  };
  const deadLetterQueue = new Queue(scope, 'DeadLetterQueue', {
    ...shared,
    retentionPeriod: Duration.millis(settings.deadLetterRetentionMs),
    visibilityTimeout: Duration.seconds(DEAD_LETTER_TIMEOUT.toSeconds() * CONSUMER_TIMEOUTS),
  });
  const queue = new Queue(scope, 'Queue', {
    ...shared,
    retentionPeriod: Duration.millis(settings.queueRetentionMs),
    visibilityTimeout: Duration.millis(settings.visibilityTimeoutMs),
    // SendMessage itself refuses what a row could not keep.
    maxMessageSizeBytes: settings.maxPayloadBytes + ENVELOPE_BYTES,
    receiveMessageWaitTime: Duration.seconds(20),
    deadLetterQueue: { queue: deadLetterQueue, maxReceiveCount: settings.maxReceiveCount },
  });
  return { queue, deadLetterQueue };
}
