import { Duration, RemovalPolicy, Stack, Token } from 'aws-cdk-lib';
import { Grant, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { CfnSchedule, CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import { type IQueue, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import {
  DEFAULT_LATE_AFTER_MS,
  expressionOf,
  type Schedule,
  type Schedules,
  tickBody,
} from '../client/schedules/schedule.ts';
import { scheduleProblems } from '../client/schedules/schedule-problems.ts';
import type { Settings } from '../settings/settings.ts';
import { SettingsError } from '../settings/settings-error.ts';
import { scheduleGroupOf } from '../wire/schedule-group.ts';
import { acknowledge } from './acknowledge.ts';
import type { ResourceProps } from './props/leasehold-jobs-props.ts';

/** What recurring jobs consist of. */
export interface JobSchedules {
  readonly group: CfnScheduleGroup;
  readonly schedules: Readonly<Record<string, CfnSchedule>>;
  /** Ticks that EventBridge Scheduler could not put into the job queue. */
  readonly deadLetterQueue: Queue;
}

/** The longest that SQS keeps a message. */
const RETENTION = Duration.days(14);
/** What EventBridge Scheduler itself has as its default. */
const MOST_RETRIES = 185;

/** Refuses schedules that could not run, naming every problem at once. */
function checkSchedules(schedules: Schedules, settings: Settings): void {
  const problems = scheduleProblems(schedules, settings);
  if (problems.length > 0) throw new SettingsError(problems);
}

/** Recurring jobs: schedules of EventBridge Scheduler that put a message into the job queue at each tick. */
export function addSchedules(
  jobs: Construct & { readonly queue: IQueue; readonly serviceName: string; readonly settings: Settings },
  schedules: Schedules,
  {
    encryptionKey,
    removalPolicy = RemovalPolicy.RETAIN,
  }: Pick<ResourceProps, 'encryptionKey' | 'removalPolicy'>,
): JobSchedules {
  checkSchedules(schedules, jobs.settings);
  const home = new Construct(jobs, 'Schedules');
  const { serviceName } = jobs;
  const group = new CfnScheduleGroup(home, 'Group', {
    name: Token.isUnresolved(serviceName) ? undefined : scheduleGroupOf(serviceName),
  });
  // Without a key of the user's: one that denies its use is a likely reason for a tick to end here.
  const deadLetterQueue = new Queue(home, 'DeadLetterQueue', {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: RETENTION,
    removalPolicy,
  });
  acknowledge(deadLetterQueue, 'AwsSolutions-SQS3', 'It is a dead-letter queue itself, of the schedules.');
  const role = createRole(home, group, { queue: jobs.queue, deadLetterQueue, encryptionKey });
  const made = Object.entries(schedules).map(([name, schedule]): [string, CfnSchedule] => {
    const resource = createSchedule(home, name, schedule, {
      ...{ group, queue: jobs.queue, deadLetterQueue, serviceName },
      role: role.role,
    });
    role.grant.applyBefore(resource);
    return [name, resource];
  });
  return { group, schedules: Object.fromEntries(made), deadLetterQueue };
}

/** May be used by the schedules of this group alone, to send to two queues. */
function createRole(
  home: Construct,
  group: CfnScheduleGroup,
  to: { readonly queue: IQueue; readonly deadLetterQueue: IQueue; readonly encryptionKey: IKey | undefined },
): { readonly role: Role; readonly grant: Grant } {
  const role = new Role(home, 'Role', {
    // https://docs.aws.amazon.com/scheduler/latest/UserGuide/cross-service-confused-deputy-prevention.html
    assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
      conditions: {
        StringEquals: { 'aws:SourceAccount': Stack.of(home).account, 'aws:SourceArn': group.attrArn },
      },
    }),
  });
  const grant = Grant.addToPrincipal({
    grantee: role,
    actions: ['sqs:SendMessage'],
    resourceArns: [to.queue.queueArn, to.deadLetterQueue.queueArn],
  });
  const key = to.encryptionKey?.grant(role, 'kms:Decrypt', 'kms:GenerateDataKey');
  return { role, grant: key === undefined ? grant : grant.combine(key) };
}

function createSchedule(
  home: Construct,
  name: string,
  schedule: Schedule,
  parts: {
    readonly group: CfnScheduleGroup;
    readonly role: Role;
    readonly queue: IQueue;
    readonly deadLetterQueue: IQueue;
    readonly serviceName: string;
  },
): CfnSchedule {
  const { lateAfterMs = DEFAULT_LATE_AFTER_MS, timeZone, type } = schedule;
  return new CfnSchedule(home, `Schedule-${name}`, {
    name,
    groupName: parts.group.ref,
    description: `Jobs of type ${type} for ${parts.serviceName}`,
    scheduleExpression: expressionOf(schedule),
    scheduleExpressionTimezone: timeZone,
    flexibleTimeWindow: { mode: 'OFF' },
    target: {
      arn: parts.queue.queueArn,
      roleArn: parts.role.roleArn,
      input: tickBody(name, schedule),
      // A tick that would be late makes no job, so there is no use in trying for longer.
      retryPolicy: {
        maximumEventAgeInSeconds: Math.floor(lateAfterMs / 1000),
        maximumRetryAttempts: MOST_RETRIES,
      },
      deadLetterConfig: { arn: parts.deadLetterQueue.queueArn },
    },
  });
}
