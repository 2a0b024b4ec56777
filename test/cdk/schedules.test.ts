import { Match } from 'aws-cdk-lib/assertions';
import { Key } from 'aws-cdk-lib/aws-kms';
import { describe, expect, it } from 'vitest';
import type { Schedules } from '../../lib/client/schedules/schedule.ts';
import { deploymentTags, scheduleGroupOf } from '../../lib/wire/schedule-group.ts';
import {
  flat,
  resourceOf,
  someEnv,
  standard,
  synthesize,
  synthesizeJobs,
  withoutValidation,
} from './support.ts';

withoutValidation();

const schedules: Schedules = {
  nightly: {
    ...{ cron: '0 3 * * ? *', timeZone: 'Europe/Berlin', type: 'report' },
    payload: { day: '<aws.scheduler.scheduled-time>' },
  },
  often: { rate: '5 minutes', type: 'poll', lateAfterMs: 300_000 },
};

describe('recurring jobs', () => {
  it('are schedules that send their message to the job queue, with the name and the time of the tick', () => {
    const built = synthesize({ schedules, serviceName: 'My jobs/α' });
    const made = built.jobs.schedules?.schedules ?? {};
    expect(Object.keys(made)).toEqual(['nightly', 'often']);
    const { Properties } =
      built.template.toJSON().Resources[built.stack.resolve(made.nightly?.logicalId) as string];
    expect(Properties).toMatchObject({
      ...{ Name: 'nightly', ScheduleExpression: 'cron(0 3 * * ? *)' },
      ScheduleExpressionTimezone: 'Europe/Berlin',
      FlexibleTimeWindow: { Mode: 'OFF' },
      Target: { RetryPolicy: { MaximumEventAgeInSeconds: 86_400, MaximumRetryAttempts: 185 } },
    });
    expect(JSON.parse(Properties.Target.Input)).toEqual({
      ...{ type: 'report', payload: { day: '<aws.scheduler.scheduled-time>' }, schedule: 'nightly' },
      ...{ scheduledAt: '<aws.scheduler.scheduled-time>', lateAfterMs: 86_400_000 },
    });
    built.template.hasResourceProperties('AWS::Scheduler::Schedule', {
      ...{ Name: 'often', ScheduleExpression: 'rate(5 minutes)' },
      Target: { RetryPolicy: { MaximumEventAgeInSeconds: 300 } },
    });
    built.template.hasResourceProperties('AWS::Scheduler::ScheduleGroup', { Name: 'My-jobs--' });
  });

  it('may send to the job queue and their own dead-letter queue, and nothing else, from their own group alone', () => {
    const built = synthesizeJobs((stack) => ({ schedules, encryptionKey: new Key(stack, 'Key') }));
    const { Resources } = built.template.toJSON() as {
      Resources: Record<string, { Type: string; Properties: never }>;
    };
    const role = Object.entries(Resources).find(
      ([id, { Type }]) => Type === 'AWS::IAM::Role' && /SchedulesRole/.test(id),
    );
    const policy = Object.entries(Resources).find(
      ([id, { Type }]) => Type === 'AWS::IAM::Policy' && /SchedulesRole/.test(id),
    );
    const group = Object.keys(Resources).find(
      (id) => Resources[id]?.Type === 'AWS::Scheduler::ScheduleGroup',
    );
    expect(flat(role?.[1].Properties)).toMatchObject({
      AssumeRolePolicyDocument: {
        Statement: [
          {
            Principal: { Service: 'scheduler.amazonaws.com' },
            Condition: {
              StringEquals: { 'aws:SourceAccount': someEnv.account, 'aws:SourceArn': `<${group}.Arn>` },
            },
          },
        ],
      },
    });
    const statements = (flat(policy?.[1].Properties) as { PolicyDocument: { Statement: object[] } })
      .PolicyDocument.Statement;
    const arnOf = (queue: { readonly node: { readonly defaultChild?: unknown } }) =>
      `<${built.stack.resolve((queue.node.defaultChild as { logicalId: string }).logicalId)}.Arn>`;
    const dead = built.jobs.schedules?.deadLetterQueue;
    if (dead === undefined) throw new Error('no queue');
    expect(statements).toEqual([
      { Effect: 'Allow', Action: 'sqs:SendMessage', Resource: [arnOf(built.jobs.queue), arnOf(dead)] },
      {
        Effect: 'Allow',
        Action: ['kms:Decrypt', 'kms:GenerateDataKey'],
        Resource: expect.stringMatching(/^<Key.*Arn>$/),
      },
    ]);
    // A key that is the reason for a tick to fail must not keep it from being kept.
    expect(resourceOf(built, dead).Properties).toMatchObject({ SqsManagedSseEnabled: true });
    built.template.allResourcesProperties(
      'AWS::Scheduler::Schedule',
      Match.objectLike({ Target: Match.anyValue() }),
    );
  });

  it('have an alarm on ticks that could not be delivered, one metric more, and cost nothing where there are none', () => {
    const with_ = synthesize({ schedules });
    const without = synthesize({ schedules: {} });
    const extra = Object.keys(with_.jobs.alarms).filter((id) => !(id in without.jobs.alarms));
    expect(extra).toEqual(['TicksUndelivered']);
    const alarm = with_.jobs.alarms.TicksUndelivered;
    if (alarm === undefined) throw new Error('no alarm');
    expect(resourceOf(with_, alarm).Properties).toMatchObject({
      MetricName: 'ApproximateNumberOfMessagesVisible',
      Threshold: 1,
      AlarmDescription: expect.stringMatching(/#recurring-jobs-are-not-started$/),
    });
    expect(without.jobs.schedules).toBeUndefined();
    without.template.resourceCountIs('AWS::Scheduler::Schedule', 1);
  });

  it('have a group in every deployment, whose tags tell the command line where table and queue are', () => {
    const made = standard();
    const [group] = Object.values(made.template.findResources('AWS::Scheduler::ScheduleGroup'));
    const { tableName, queueUrl, eventBusName } = deploymentTags;
    const named = Object.fromEntries(
      (flat(group?.Properties) as { Tags: { Key: string; Value: string }[] }).Tags.map(({ Key, Value }) => [
        ...[Key, Value],
      ]),
    );
    expect(group?.Properties.Name).toBe(scheduleGroupOf(made.jobs.serviceName));
    expect(named).toEqual({
      [tableName]: flat(made.stack.resolve(made.jobs.table.tableName)),
      [queueUrl]: flat(made.stack.resolve(made.jobs.queue.queueUrl)),
      [eventBusName]: 'default',
    });
  });
});
