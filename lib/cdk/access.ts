import { Token, TokenComparison } from 'aws-cdk-lib';
import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import { Grant, type IGrantable, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { SettingsError } from '../settings/settings-error.ts';
import { byLease } from '../wire/table.ts';
import type { FunctionName } from './bundling.ts';

/** What can be accessed; an index has an ARN and permissions of its own. */
export interface AccessTargets {
  readonly table: TableV2;
  readonly queue: IQueue;
  readonly deadLetterQueue: IQueue;
  readonly wakeQueue: IQueue;
  /** Undefined when events are switched off. */
  readonly eventBus: IEventBus | undefined;
  readonly encryptionKey: IKey | undefined;
}

/** Actions by what they act on. */
export interface Access {
  readonly table?: readonly string[];
  readonly byLease?: readonly string[];
  readonly queue?: readonly string[];
  readonly deadLetterQueue?: readonly string[];
  readonly wakeQueue?: readonly string[];
  readonly eventBus?: readonly string[];
}

/** What Lambda calls on a queue, with the function's role, to feed a function from it. */
const EVENT_SOURCE_ACTIONS = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'] as const;

/**
 * What each function may do: test/cdk/deployed-functions.test.ts holds it against what the code sends, both ways. GetItem
 * is for a refused write that comes back without its row, because there is none, for asking DynamoDB the time, and with
 * BatchGetItem for data beside a row; the dead-letter consumer only creates rows and does none of it.
 */
export const functionAccess = {
  worker: {
    table: ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:UpdateItem'],
    queue: [...EVENT_SOURCE_ACTIONS, 'sqs:ChangeMessageVisibility', 'sqs:SendMessage'],
    eventBus: ['events:PutEvents'],
  },
  reaper: {
    table: ['dynamodb:GetItem', 'dynamodb:UpdateItem', 'dynamodb:PartiQLUpdate'],
    byLease: ['dynamodb:Query'],
    queue: ['sqs:SendMessage'],
    wakeQueue: [...EVENT_SOURCE_ACTIONS, 'sqs:SendMessage'],
    eventBus: ['events:PutEvents'],
  },
  'dead-letter': {
    table: ['dynamodb:UpdateItem'],
    queue: ['sqs:SendMessage'],
    deadLetterQueue: [...EVENT_SOURCE_ACTIONS],
  },
} as const satisfies Record<FunctionName, Access>;

const DESCRIBE_QUEUE = ['sqs:GetQueueAttributes', 'sqs:GetQueueUrl'] as const;
const OBSERVE = {
  table: ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:DescribeTable', 'dynamodb:Scan'],
  byLease: ['dynamodb:Query'],
  queue: [...DESCRIBE_QUEUE],
  deadLetterQueue: [...DESCRIBE_QUEUE],
} as const satisfies Access;

/** What people and other systems may be granted. */
export const granteeAccess = {
  produce: { queue: ['sqs:SendMessage', 'sqs:GetQueueUrl'] },
  // A process takes whole batches of messages, so it claims and completes by batch statements as well.
  work: {
    table: [...functionAccess.worker.table, 'dynamodb:PartiQLInsert', 'dynamodb:PartiQLUpdate'],
    queue: functionAccess.worker.queue,
    eventBus: functionAccess.worker.eventBus,
  },
  // A reaper in a process watches, and wakes nobody.
  reap: {
    table: functionAccess.reaper.table,
    byLease: functionAccess.reaper.byLease,
    queue: functionAccess.reaper.queue,
    eventBus: functionAccess.reaper.eventBus,
  },
  observe: OBSERVE,
  operate: {
    ...OBSERVE,
    table: [...OBSERVE.table, 'dynamodb:UpdateItem'],
    queue: [...DESCRIBE_QUEUE, 'sqs:SendMessage'],
    // Of a job that is cancelled before it runs, no worker publishes the event.
    eventBus: ['events:PutEvents'],
    deadLetterQueue: [
      ...DESCRIBE_QUEUE,
      'sqs:ReceiveMessage',
      'sqs:DeleteMessage',
      'sqs:ChangeMessageVisibility',
    ],
  },
} as const satisfies Record<string, Access>;

/**
 * What a key must allow. Queues: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html.
 * Tables: DynamoDB calls KMS in the name of whoever uses the table,
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html.
 */
const KEY_FOR_QUEUES = ['kms:Decrypt', 'kms:GenerateDataKey'] as const;
const KEY_FOR_TABLES = [
  'kms:Encrypt',
  'kms:ReEncryptFrom',
  'kms:ReEncryptTo',
  'kms:GenerateDataKeyWithoutPlaintext',
  'kms:DescribeKey',
] as const;

/**
 * Adds these permissions, one statement for each thing that is accessed. A principal without a policy of its own (a service, a
 * role of another account) gets them by the policy of the queue and the key; what has none of these is refused.
 */
export function grantAccess(grantee: IGrantable, access: Access, targets: AccessTargets): Grant {
  const { table, queue, deadLetterQueue, wakeQueue, eventBus, encryptionKey } = targets;
  const resources: Record<keyof Access, { readonly arn: string; readonly resource?: IQueue } | undefined> = {
    table: { arn: table.tableArn },
    byLease: { arn: `${table.tableArn}/index/${byLease.name}` },
    queue: { arn: queue.queueArn, resource: queue },
    deadLetterQueue: { arn: deadLetterQueue.queueArn, resource: deadLetterQueue },
    wakeQueue: { arn: wakeQueue.queueArn, resource: wakeQueue },
    eventBus: eventBus && { arn: eventBus.eventBusArn },
  };
  const isOutside = isOfAnotherAccount(grantee, table);
  let grant: Grant | undefined;
  const add = (more: Grant, what: string) => {
    if (!more.success) throw new SettingsError([cannotGrant(grantee, what)]);
    grant = grant === undefined ? more : grant.combine(more);
  };
  for (const [target, actions] of Object.entries(access) as [keyof Access, readonly string[]][]) {
    const to = resources[target];
    if (to === undefined) continue;
    const statement = { grantee, actions: [...actions], resourceArns: [to.arn] };
    // CDK calls a grant to an imported role a success, though it changes no policy of another account.
    if (isOutside && to.resource === undefined) throw new SettingsError([cannotGrant(grantee, target)]);
    add(
      to.resource === undefined
        ? Grant.addToPrincipal(statement)
        : Grant.addToPrincipalOrResource({ ...statement, resource: to.resource }),
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

/** Who has no policy of its own here needs one in the key's. A key that was made elsewhere takes none. */
function allowInKeyPolicy(key: IKey, grantee: IGrantable, actions: readonly string[]): void {
  const statement = new PolicyStatement({
    actions: [...actions],
    principals: [grantee.grantPrincipal],
    resources: ['*'],
  });
  if (!key.addToResourcePolicy(statement, true).statementAdded)
    throw new SettingsError([
      `'${grantee.grantPrincipal}' cannot be given access to 'encryptionKey': it has no policy of its own here, and the key was made elsewhere, so its policy cannot be changed. Allow ${actions.join(', ')} in the key's policy by hand, or make the key in this app`,
    ]);
}

const isOfAnotherAccount = ({ grantPrincipal }: IGrantable, { env }: TableV2): boolean =>
  grantPrincipal.principalAccount !== undefined &&
  Token.compareStrings(grantPrincipal.principalAccount, env.account) === TokenComparison.DIFFERENT;

const cannotGrant = ({ grantPrincipal }: IGrantable, what: string): string =>
  `'${grantPrincipal}' cannot be given access to '${what}': it has no policy of its own here (a service, an account or an imported role), and a ${what} of this stack takes no policy for it. Grant a role of this account that it may assume; only 'grants.produce' works for others, because a queue has a policy`;
