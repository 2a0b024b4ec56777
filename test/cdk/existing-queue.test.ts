import { Duration, Stack } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { Key } from 'aws-cdk-lib/aws-kms';
import { type IQueue, Queue, type QueueProps } from 'aws-cdk-lib/aws-sqs';
import { expect, it } from 'vitest';
import type { LeaseholdJobsProps } from '../../lib/cdk/props/leasehold-jobs-props.ts';
import { jobQueueAttributes } from '../../lib/wire/queues.ts';
import { flat, resourceOf, someEnv, synthesizeJobs, withoutValidation } from './support.ts';

withoutValidation();

const withQueue = (queueOf: (stack: Stack) => IQueue, props: LeaseholdJobsProps = {}) =>
  synthesizeJobs((stack) => ({ queue: queueOf(stack), ...props }));
const own = (props: QueueProps) => (stack: Stack) => new Queue(stack, 'Mine', props);
const warnings = ({ stack }: { readonly stack: Stack }) =>
  Annotations.fromStack(stack)
    .findWarning('*', Match.stringLikeRegexp("prop 'queue'"))
    .map(({ entry }) => entry.data);

it('a queue of the same stack becomes the job queue, with what a job queue needs', () => {
  const made = withQueue(own({ queueName: 'orders', visibilityTimeout: Duration.seconds(30) }));
  const { visibilityTimeoutSeconds, retentionSeconds, maxReceiveCount } = jobQueueAttributes(
    made.jobs.settings,
  );
  const id = (child: { readonly node: { readonly defaultChild?: unknown } }) =>
    made.stack.resolve((child.node.defaultChild as { readonly logicalId: string }).logicalId);
  expect(flat(resourceOf(made, made.jobs.queue).Properties)).toMatchObject({
    QueueName: 'orders',
    VisibilityTimeout: visibilityTimeoutSeconds,
    MessageRetentionPeriod: retentionSeconds,
    RedrivePolicy: { deadLetterTargetArn: `<${id(made.jobs.deadLetterQueue)}.Arn>`, maxReceiveCount },
  });
  made.template.resourceCountIs('AWS::SQS::Queue', 3);
  const arn = { 'Fn::GetAtt': [id(made.jobs.queue), 'Arn'] };
  made.template.hasResourceProperties('AWS::Lambda::EventSourceMapping', { EventSourceArn: arn });
  expect(warnings(made)).toEqual([]);
});

it('a queue of another stack keeps its attributes, and synth says which it needs', () => {
  const arn = 'arn:aws:sqs:eu-west-1:123456789012:orders';
  const made = withQueue((stack) => Queue.fromQueueArn(stack, 'Mine', arn));
  const { visibilityTimeoutSeconds } = jobQueueAttributes(made.jobs.settings);
  expect(warnings(made)).toEqual([
    expect.stringMatching(
      new RegExp(`visibility timeout to ${visibilityTimeoutSeconds} s.*leasehold doctor`),
    ),
  ]);
  made.template.hasResourceProperties('AWS::Lambda::EventSourceMapping', { EventSourceArn: arn });
  const policies = JSON.stringify(made.template.findResources('AWS::IAM::Policy'));
  expect(policies).toContain(arn);
  const elsewhere = withQueue(
    (stack) => new Queue(new Stack(stack.node.root, 'Other', { env: someEnv }), 'Mine'),
  );
  expect(warnings(elsewhere)).toHaveLength(1);
});

it('a queue that cannot be one of jobs is refused, with what to change', () => {
  expect(() => withQueue(own({ fifo: true }))).toThrow(/FIFO queues are refused/);
  expect(() =>
    withQueue((stack) =>
      own({ deadLetterQueue: { queue: new Queue(stack, 'Dead'), maxReceiveCount: 3 } })(stack),
    ),
  ).toThrow(/dead-letter queue already; leave 'deadLetterQueue' out/);
  const encrypted = (stack: Stack) => own({ encryptionMasterKey: new Key(stack, 'Key') })(stack);
  expect(() => withQueue(encrypted)).toThrow(/set 'encryptionKey' to the same key/);
});
