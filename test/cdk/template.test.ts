import { describe, expect, it } from 'vitest';
import { type AlarmProperties, alarmsOf, metricsIn } from './alarms-of.ts';
import { flat, type Resource, standard as usual, withoutValidation } from './support.ts';

withoutValidation();

const standard = usual();
const resources: readonly [id: string, Resource][] = Object.entries(standard.template.toJSON().Resources);

/** Properties of all resources of a type, by the construct's own names for them. */
const ofType = (type: string) =>
  Object.fromEntries(
    resources
      .filter(([, { Type }]) => Type === type)
      .map(([id, { Properties }]) => [id.replace(/^Jobs(\w+)\w{8}$/, '$1'), flat(Properties)]),
  );

describe('an upgrade', () => {
  it('replaces nothing that holds data or has a fixed name: their logical ids stay', () => {
    const kept = resources.filter(
      ([, { Type, DeletionPolicy }]) =>
        DeletionPolicy === 'Retain' || Type === 'AWS::Scheduler::ScheduleGroup',
    );
    expect(kept.map(([id]) => id).sort()).toEqual([
      'JobsDeadLetterLogsE9AFDC47',
      'JobsDeadLetterQueue8CC426EE',
      'JobsQueue24944186',
      'JobsReaperLogsBD18B955',
      'JobsSchedulesGroupAE2E75D7',
      'JobsTable10C8EDF6',
      'JobsWorkerLogsB1DE3F22',
    ]);
  });
});

describe('with the defaults', () => {
  it('the queues are encrypted, and dead letters outlive jobs', () => {
    expect(ofType('AWS::SQS::Queue')).toEqual({
      Queue: {
        MaximumMessageSize: 69_632,
        MessageRetentionPeriod: 345_600,
        ReceiveMessageWaitTimeSeconds: 20,
        RedrivePolicy: { deadLetterTargetArn: expect.stringMatching(/DeadLetterQueue/), maxReceiveCount: 10 },
        SqsManagedSseEnabled: true,
        VisibilityTimeout: 960,
      },
      DeadLetterQueue: {
        MessageRetentionPeriod: 1_209_600,
        SqsManagedSseEnabled: true,
        VisibilityTimeout: 180,
      },
      WakeQueue: { MessageRetentionPeriod: 300, SqsManagedSseEnabled: true, VisibilityTimeout: 60 },
    });
  });

  it('each function reads its own queue, and returns messages one by one where it matters', () => {
    const source = (queue: string, fn: string) => ({
      EventSourceArn: expect.stringMatching(`^<Jobs${queue}[0-9A-F]{8}.Arn>$`),
      FunctionName: expect.stringMatching(`^<Jobs${fn}Function`),
    });
    const FunctionResponseTypes = ['ReportBatchItemFailures'];
    expect(ofType('AWS::Lambda::EventSourceMapping')).toEqual({
      WorkerSource: {
        ...source('Queue', 'Worker'),
        FunctionResponseTypes,
        BatchSize: 1,
        MaximumBatchingWindowInSeconds: 0,
        ScalingConfig: { MaximumConcurrency: 50 },
      },
      DeadLetterSource: { ...source('DeadLetterQueue', 'DeadLetter'), FunctionResponseTypes, BatchSize: 10 },
      WakeSource: { ...source('WakeQueue', 'Reaper'), BatchSize: 10 },
    });
  });

  it('each role can be assumed by one service, for this account', () => {
    const trusted = (service: string, restriction: object = {}) => ({
      AssumeRolePolicyDocument: {
        Version: '2012-10-17',
        Statement: [
          { Action: 'sts:AssumeRole', Effect: 'Allow', Principal: { Service: service }, ...restriction },
        ],
      },
    });
    const lambda = trusted('lambda.amazonaws.com');
    expect(ofType('AWS::IAM::Role')).toEqual({
      WorkerRole: lambda,
      ReaperRole: lambda,
      DeadLetterRole: lambda,
      ScheduleRole: trusted('scheduler.amazonaws.com', {
        Condition: { StringEquals: { 'aws:SourceAccount': '<AWS::AccountId>' } },
      }),
    });
  });

  it('alarms go off at these values', () => {
    const words = (alarm: AlarmProperties) => {
      const statistic = alarm.Metrics === undefined ? `${alarm.Statistic} of ` : '';
      const watched = metricsIn(alarm).map(({ MetricName }) => MetricName);
      const comparison = alarm.ComparisonOperator === 'LessThanThreshold' ? '<' : '>=';
      const period = alarm.Period === undefined ? '' : ` of ${alarm.Period} s`;
      return `${statistic}${watched.join(', ')} ${comparison} ${alarm.Threshold}, ${alarm.EvaluationPeriods} times${period}`;
    };
    const alarms = Object.entries(alarmsOf(standard)).map(([id, alarm]) => [id, words(alarm)]);
    expect(Object.fromEntries(alarms)).toMatchInlineSnapshot(`
      {
        "ClockUnsound": "SampleCount of ClockOffset >= 1, 1 times of 300 s",
        "Crashes": "Sum of JobsCrashed >= 3, 1 times of 300 s",
        "DeadLetters": "ApproximateNumberOfMessagesVisible, ApproximateNumberOfMessagesNotVisible >= 1, 3 times",
        "DeadMan": "ApproximateNumberOfMessagesVisible, SweepDuration < 1, 5 times",
        "JobsFailed": "Sum of JobsFailed >= 1, 1 times of 300 s",
        "MessagesReturned": "Sum of MessagesReturned >= 20, 1 times of 300 s",
        "QueueAge": "Maximum of ApproximateAgeOfOldestMessage >= 3600, 1 times of 300 s",
        "QueueStalled": "ApproximateAgeOfOldestMessage, JobsClaimed >= 1, 18 times",
        "ReaperLate": "Sum of ReaperLate >= 2, 1 times of 300 s",
        "Reclaims": "Sum of JobsReclaimed >= 1, 1 times of 300 s",
        "StoreFailures": "Sum of StoreFailures >= 3, 1 times of 300 s",
        "Throttled": "Sum of RequestsThrottled >= 10, 2 times of 300 s",
        "WorkerErrors": "Sum of Errors >= 1, 1 times of 300 s",
      }
    `);
  });
});
