import { Stack, Token, TokenComparison } from 'aws-cdk-lib';
import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import { Grant, type IGrantable, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { SettingsError } from '../settings/settings-error.ts';
import { byLease, byWait } from '../wire/table.ts';
import type { FunctionName } from './bundling.ts';

export interface AccessTargets {
  readonly table: TableV2;
  readonly queue: IQueue;
  readonly poolQueues: readonly IQueue[];
  readonly scaledQueues: readonly IQueue[];
  readonly deadLetterQueue: IQueue;
  readonly wakeQueue: IQueue;
  readonly eventBus: IEventBus | undefined;
  readonly encryptionKey: IKey | undefined;
  readonly scheduleGroup: CfnScheduleGroup;
}

/** The actions on each target that a grantee needs. */
export type Access = { readonly [target in keyof ReturnType<typeof resourcesOf>]?: readonly string[] };

/** Lambda polls a queue with the function's role. */
const EVENT_SOURCE_ACTIONS = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'] as const;

/** test/cdk/function-policies.test.ts compares these with the calls in the code. */
export const functionAccess = {
  worker: {
    table: ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:UpdateItem', 'dynamodb:PartiQLUpdate'],
    // Who waits for the place of a job that ended.
    byWait: ['dynamodb:Query'],
    queue: [...EVENT_SOURCE_ACTIONS, 'sqs:ChangeMessageVisibility', 'sqs:SendMessage'],
    poolQueues: ['sqs:SendMessage'],
    eventBus: ['events:PutEvents'],
  },
  reaper: {
    table: ['dynamodb:GetItem', 'dynamodb:UpdateItem', 'dynamodb:PartiQLUpdate'],
    byLease: ['dynamodb:Query'],
    byWait: ['dynamodb:Query'],
    queue: ['sqs:SendMessage'],
    poolQueues: ['sqs:SendMessage'],
    scaledQueues: ['sqs:GetQueueAttributes'],
    wakeQueue: [...EVENT_SOURCE_ACTIONS, 'sqs:SendMessage'],
    eventBus: ['events:PutEvents'],
  },
  'dead-letter': {
    table: ['dynamodb:UpdateItem'],
    queue: ['sqs:SendMessage'],
    poolQueues: ['sqs:SendMessage'],
    deadLetterQueue: [...EVENT_SOURCE_ACTIONS],
  },
} as const satisfies Record<FunctionName, Access>;

/** GetQueueUrl, because the job queue's redrive policy names the dead-letter queue without its URL. */
const DESCRIBE_DEAD_LETTERS = [
  'sqs:GetQueueAttributes',
  'sqs:GetQueueUrl',
  'sqs:ListDeadLetterSourceQueues',
] as const;
const OBSERVE = {
  table: ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:DescribeTable', 'dynamodb:Scan'],
  byLease: ['dynamodb:Query'],
  queue: ['sqs:GetQueueAttributes'],
  poolQueues: ['sqs:GetQueueAttributes'],
  deadLetterQueue: [...DESCRIBE_DEAD_LETTERS],
  scheduleGroup: ['scheduler:GetScheduleGroup', 'scheduler:ListTagsForResource'],
  schedules: ['scheduler:GetSchedule'],
  account: ['cloudwatch:GetMetricData', 'scheduler:ListSchedules'],
} as const satisfies Access;

export const granteeAccess = {
  // Producers in other languages often know only the queue's name.
  produce: {
    queue: ['sqs:SendMessage', 'sqs:GetQueueUrl'],
    poolQueues: ['sqs:SendMessage', 'sqs:GetQueueUrl'],
  },
  // Unlike the function, a process claims jobs in batches and does not read queue attributes.
  work: {
    table: [...functionAccess.worker.table, 'dynamodb:PartiQLInsert'],
    byWait: functionAccess.worker.byWait,
    queue: ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:ChangeMessageVisibility', 'sqs:SendMessage'],
    poolQueues: functionAccess.worker.poolQueues,
    eventBus: functionAccess.worker.eventBus,
  },
  reap: {
    table: functionAccess.reaper.table,
    byLease: functionAccess.reaper.byLease,
    byWait: functionAccess.reaper.byWait,
    queue: functionAccess.reaper.queue,
    poolQueues: functionAccess.reaper.poolQueues,
    // A process that dies leaves a message that starts the function instead.
    wakeQueue: ['sqs:SendMessage'],
    eventBus: functionAccess.reaper.eventBus,
  },
  observe: OBSERVE,
  operate: {
    ...OBSERVE,
    // `resume` and `limit` send hints to waiting jobs.
    byWait: ['dynamodb:Query'],
    // A manual sweep writes in batches.
    table: [...OBSERVE.table, 'dynamodb:UpdateItem', 'dynamodb:PartiQLUpdate'],
    queue: [...OBSERVE.queue, 'sqs:SendMessage'],
    poolQueues: [...OBSERVE.poolQueues, 'sqs:SendMessage'],
    // No worker publishes the event of a job that is cancelled before it runs.
    eventBus: ['events:PutEvents'],
  },
} as const satisfies Record<string, Access>;

/**
 * SQS: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html. DynamoDB
 * calls KMS as the caller: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html.
 */
const KEY_FOR_QUEUES = ['kms:Decrypt', 'kms:GenerateDataKey'] as const;
const KEY_FOR_TABLES = [
  'kms:Encrypt',
  'kms:ReEncryptFrom',
  'kms:ReEncryptTo',
  'kms:GenerateDataKeyWithoutPlaintext',
  'kms:DescribeKey',
] as const;

interface Resource {
  readonly arn: string;
  readonly resource?: IQueue;
}

const queues = (...some: readonly IQueue[]): Resource[] =>
  some.map((resource) => ({ arn: resource.queueArn, resource }));

const resourcesOf = ({ table, eventBus, scheduleGroup, ...targets }: AccessTargets) => ({
  table: [{ arn: table.tableArn }],
  byLease: [{ arn: `${table.tableArn}/index/${byLease.name}` }],
  byWait: [{ arn: `${table.tableArn}/index/${byWait.name}` }],
  queue: queues(targets.queue),
  poolQueues: queues(...targets.poolQueues),
  scaledQueues: queues(...targets.scaledQueues),
  deadLetterQueue: queues(targets.deadLetterQueue),
  wakeQueue: queues(targets.wakeQueue),
  eventBus: eventBus === undefined ? [] : [{ arn: eventBus.eventBusArn }],
  scheduleGroup: [{ arn: scheduleGroup.attrArn }],
  schedules: [{ arn: schedulesIn(scheduleGroup) }],
  account: [{ arn: '*' }],
});

/** Services and other accounts' roles have no policy here, so the queue's and the key's policy must allow them. */
export function grantAccess(grantee: IGrantable, access: Access, targets: AccessTargets): Grant {
  const { table, encryptionKey } = targets;
  const resources: Record<keyof Access, readonly Resource[]> = resourcesOf(targets);
  const isOutside = isOfAnotherAccount(grantee, table);
  let grant: Grant | undefined;
  const add = (more: Grant, what: string) => {
    if (!more.success) throw new SettingsError([cannotGrant(grantee, what)]);
    grant = grant === undefined ? more : grant.combine(more);
  };
  for (const [target, actions] of Object.entries(access) as [keyof Access, readonly string[]][])
    for (const { arn, resource } of resources[target]) {
      const statement = { grantee, actions: [...actions], resourceArns: [arn] };
      // CDK reports success for an imported role even though it cannot change another account's policies.
      if (isOutside && resource === undefined) throw new SettingsError([cannotGrant(grantee, target)]);
      add(
        resource === undefined
          ? Grant.addToPrincipal(statement)
          : Grant.addToPrincipalOrResource({ ...statement, resource }),
        target,
      );
    }
  if (encryptionKey !== undefined) {
    const actions = [...KEY_FOR_QUEUES, ...('table' in access ? KEY_FOR_TABLES : [])];
    if (isOutside || grant?.principalStatements.length === 0)
      allowInKeyPolicy(encryptionKey, grantee, actions);
    else add(encryptionKey.grant(grantee, ...actions), 'encryptionKey');
  }
  return grant ?? Grant.drop(grantee, 'nothing to grant');
}

const schedulesIn = (group: CfnScheduleGroup): string =>
  Stack.of(group).formatArn({ service: 'scheduler', resource: 'schedule', resourceName: `${group.ref}/*` });

/** Imported keys do not accept policy statements. */
function allowInKeyPolicy(key: IKey, grantee: IGrantable, actions: readonly string[]): void {
  const statement = new PolicyStatement({
    actions: [...actions],
    principals: [grantee.grantPrincipal],
    resources: ['*'],
  });
  if (!key.addToResourcePolicy(statement, true).statementAdded)
    throw new SettingsError([
      `'${grantee.grantPrincipal}' cannot be given access to 'encryptionKey': this app can change neither its policy nor that of the key, which was made elsewhere. Allow ${actions.join(', ')} in the key's policy by hand, or make the key in this app`,
    ]);
}

const isOfAnotherAccount = ({ grantPrincipal }: IGrantable, { env }: TableV2): boolean =>
  grantPrincipal.principalAccount !== undefined &&
  Token.compareStrings(grantPrincipal.principalAccount, env.account) === TokenComparison.DIFFERENT;

const cannotGrant = ({ grantPrincipal }: IGrantable, what: string): string =>
  `'${grantPrincipal}' cannot be given access to '${what}': this app cannot change its policy (it is a service, an account or an imported role), and a ${what} of this stack has no policy that could allow it. Grant a role of this account that it may assume; only 'grants.produce' works for others, because a queue has a policy`;
