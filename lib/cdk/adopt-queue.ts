import { Annotations, Stack } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { CfnQueue, type IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { Settings } from '../settings/settings.ts';
import { SettingsError } from '../settings/settings-error.ts';
import { jobQueueAttributes } from '../wire/queues.ts';
import { refusals } from './props/check-props.ts';

/** Makes the user's queue a job queue. Only one of the same stack can be changed from here. */
export function adoptQueue(
  scope: Construct,
  queue: IQueue,
  { deadLetterQueue, key, settings }: { deadLetterQueue: IQueue; key: IKey | undefined; settings: Settings },
): IQueue {
  const resource = Stack.of(queue) === Stack.of(scope) ? queue.node.defaultChild : undefined;
  const problems = [
    ...(queue.fifo ? [refusals.fifo] : []),
    ...(queue.encryptionMasterKey !== undefined && queue.encryptionMasterKey !== key
      ? [
          "the queue of prop 'queue' is encrypted with a key that the functions may not use; set 'encryptionKey' to the same key",
        ]
      : []),
    ...(resource instanceof CfnQueue && resource.redrivePolicy !== undefined
      ? [
          "the queue of prop 'queue' has a dead-letter queue already; leave 'deadLetterQueue' out of its props, because Leasehold adds one whose messages become failed rows",
        ]
      : []),
  ];
  if (problems.length > 0) throw new SettingsError(problems);
  const { visibilityTimeoutSeconds, retentionSeconds, maxReceiveCount } = jobQueueAttributes(settings);
  if (resource instanceof CfnQueue) {
    resource.visibilityTimeout = visibilityTimeoutSeconds;
    resource.messageRetentionPeriod = retentionSeconds;
    resource.redrivePolicy = { deadLetterTargetArn: deadLetterQueue.queueArn, maxReceiveCount };
  } else
    Annotations.of(scope).addWarningV2(
      'leasehold:queue',
      `the queue of prop 'queue' is not of this stack, so it keeps its attributes. Set its visibility timeout to ${visibilityTimeoutSeconds} s, its retention to ${retentionSeconds} s, and its redrive policy to this construct's dead-letter queue after ${maxReceiveCount} receives; then 'leasehold doctor' finds nothing to change, and you can acknowledge this warning`,
    );
  return queue;
}
