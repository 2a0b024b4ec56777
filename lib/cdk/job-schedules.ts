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
import { type Deployment, deploymentTags, scheduleGroupOf, tagsOfPools } from '../wire/schedule-group.ts';
import { acknowledge } from './acknowledge.ts';
import type { JobPool } from './pools/pools.ts';
import type { ResourceProps } from './props/leasehold-jobs-props.ts';

/** The resources behind recurring jobs. */
export interface JobSchedules {
  readonly group: CfnScheduleGroup;
  readonly schedules: Readonly<Record<string, CfnSchedule>>;
  /** Ticks that EventBridge Scheduler could not deliver to the job queue. */
  readonly deadLetterQueue: Queue;
}

const RETENTION = Duration.days(14);
const MOST_RETRIES = 185;

function checkSchedules(schedules: Schedules, settings: Settings): void {
  const problems = scheduleProblems(schedules, settings);
  if (problems.length > 0) throw new SettingsError(problems);
}

/** Exists without recurring jobs, too: its tags tell the command line where table and queue are. */
export const createScheduleGroup = (
  jobs: Construct & { readonly serviceName: string },
  deployment: Deployment,
): CfnScheduleGroup =>
  new CfnScheduleGroup(new Construct(jobs, 'Schedules'), 'Group', {
    name: Token.isUnresolved(jobs.serviceName) ? undefined : scheduleGroupOf(jobs.serviceName),
    tags: [
      ...Object.entries(deploymentTags).flatMap(([name, key]) => {
        const value = deployment[name as keyof typeof deploymentTags];
        return value === undefined ? [] : [{ key, value }];
      }),
      ...Object.entries(tagsOfPools(deployment.pools ?? {})).map(([key, value]) => ({ key, value })),
    ],
  });

export function addSchedules(
  jobs: Construct & {
    readonly queue: IQueue;
    readonly pools: Readonly<Record<string, Pick<JobPool, 'queue' | 'types'>>>;
    readonly serviceName: string;
    readonly settings: Settings;
  },
  group: CfnScheduleGroup,
  schedules: Schedules,
  {
    encryptionKey,
    removalPolicy = RemovalPolicy.RETAIN,
  }: Pick<ResourceProps, 'encryptionKey' | 'removalPolicy'>,
): JobSchedules {
  checkSchedules(schedules, jobs.settings);
  const home = group.node.scope as Construct;
  const { serviceName } = jobs;
  // A customer key that denies access is a likely reason for a tick to end here, so this queue does not use it.
  const deadLetterQueue = new Queue(home, 'DeadLetterQueue', {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: RETENTION,
    removalPolicy,
  });
  acknowledge(deadLetterQueue, 'AwsSolutions-SQS3', 'It is a dead-letter queue itself, of the schedules.');
  const queueOf = ({ type }: Schedule): IQueue =>
    Object.values(jobs.pools).find(({ types }) => types.includes(type))?.queue ?? jobs.queue;
  const queues = [...new Set(Object.values(schedules).map(queueOf))];
  const role = createRole(home, group, { queues, deadLetterQueue, encryptionKey });
  const parts = { group, deadLetterQueue, serviceName, role: role.role };
  const made = Object.entries(schedules).map(([name, schedule]): [string, CfnSchedule] => {
    const resource = createSchedule(home, name, schedule, { ...parts, queue: queueOf(schedule) });
    role.grant.applyBefore(resource);
    return [name, resource];
  });
  return { group, schedules: Object.fromEntries(made), deadLetterQueue };
}

function createRole(
  home: Construct,
  group: CfnScheduleGroup,
  to: {
    readonly queues: readonly IQueue[];
    readonly deadLetterQueue: IQueue;
    readonly encryptionKey: IKey | undefined;
  },
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
    resourceArns: [...to.queues, to.deadLetterQueue].map(({ queueArn }) => queueArn),
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
      // A late tick creates no job, so retrying longer is useless.
      retryPolicy: {
        maximumEventAgeInSeconds: Math.floor(lateAfterMs / 1000),
        maximumRetryAttempts: MOST_RETRIES,
      },
      deadLetterConfig: { arn: parts.deadLetterQueue.queueArn },
    },
  });
}
