import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Where requests go that are allowed. */
export interface Upstreams {
  readonly dynamodb: string;
  readonly sqs: string;
  readonly events: string;
  readonly scheduler: string;
  readonly cloudwatch: string;
}

/** Names of what a function's policy speaks of, as `permissionsOf` prints them. */
export interface ResourceNames {
  readonly queues: Readonly<Record<string, string>>;
}

/** One address for all services, which lets through what a policy allows, as IAM would, and notes what was asked. */
export interface IamGate {
  readonly endpoint: string;
  /** `action on resource`, as soon as it was asked for. A request that a breakage answers with an error is not noted. */
  readonly asked: ReadonlySet<string>;
  readonly denied: ReadonlySet<string>;
  readonly allowed: ReadonlySet<string>;
  /** From now on something is broken; without an argument, nothing is. */
  breakBy(breakage?: Breakage): void;
  stop(): Promise<void>;
}

/** What is wrong with a request that needs these permissions: an error instead of its reply, a lost reply, or a wrong clock. */
export type Breakage = (
  permissions: readonly string[],
  body: string,
) =>
  | { readonly status: number; readonly error: string }
  | 'reply lost'
  | { readonly clockAheadMs: number }
  | undefined;

/** Carries every write out, and loses the reply to the first of each kind, so that the SDK sends it again. */
export function loseFirstReplies(): Breakage {
  const seen = new Set<unknown>();
  return (_, body) => {
    const { UpdateExpression, Statements }: Body = JSON.parse(body || '{}');
    const kind =
      UpdateExpression ?? (Statements as readonly { readonly Statement: string }[])?.[0]?.Statement;
    if (kind === undefined || seen.has(kind)) return undefined;
    seen.add(kind);
    return 'reply lost';
  };
}

type Body = Readonly<Record<string, unknown>>;

/** Not to be copied from one connection to the next. */
const HOP_BY_HOP = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'content-encoding',
  'keep-alive',
]);

export async function startIamGate(
  allowed: ReadonlySet<string>,
  upstreams: Upstreams,
  names: ResourceNames,
): Promise<IamGate> {
  const asked = new Set<string>();
  const denied = new Set<string>();
  let breakage: Breakage | undefined;
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const [service = '', operation = ''] = String(request.headers['x-amz-target']).split('.');
    const { upstream, permissions } =
      schedulerPermissions(request.url ?? '') ??
      permissionsFor(service, operation, JSON.parse(body || '{}'), names);
    const wants = { upstream, permissions: [...permissions, ...permissions.flatMap(keyPermissions)] };
    const broken = breakage?.(wants.permissions, body);
    if (typeof broken === 'object' && 'error' in broken) {
      response.writeHead(broken.status, { 'content-type': 'application/x-amz-json-1.0' });
      response.end(JSON.stringify({ __type: broken.error, message: 'broken by a test' }));
      return;
    }
    for (const permission of wants.permissions) asked.add(permission);
    const refused = wants.permissions.filter((permission) => !allowed.has(permission));
    for (const permission of refused) denied.add(permission);
    if (refused.length > 0) {
      response.writeHead(400, { 'content-type': 'application/x-amz-json-1.0' });
      response.end(JSON.stringify({ __type: 'AccessDeniedException', message: refusalOf(refused) }));
      return;
    }
    const reply = await fetch(`${upstreams[wants.upstream]}${request.url ?? '/'}`, {
      method: request.method ?? 'POST',
      headers: forwarded(request.headers),
      body: request.method === 'GET' ? undefined : body,
    });
    if (broken === 'reply lost') return void request.socket.destroy();
    const headers = new Headers([...reply.headers].filter(([name]) => !HOP_BY_HOP.has(name)));
    if (broken !== undefined) headers.set('date', new Date(Date.now() + broken.clockAheadMs).toUTCString());
    response.writeHead(reply.status, [...headers].flat());
    response.end(Buffer.from(await reply.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    denied,
    allowed,
    breakBy(next) {
      breakage = next;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** As IAM words it: one action, whichever is checked first. */
function refusalOf([first = '']: readonly string[]): string {
  const [action, resource] = first.split(' on ');
  return `User: arn:aws:sts::123456789012:assumed-role/role/session is not authorized to perform: ${action} on resource: ${resource} because no identity-based policy allows the ${action} action`;
}

const forwarded = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      HOP_BY_HOP.has(name) || value === undefined ? [] : [[name, String(value)]],
    ),
  );

/** EventBridge Scheduler names its operations by path. */
function schedulerPermissions(url: string) {
  const [, path = '', name] = new URL(url, 'http://gate').pathname.split('/');
  if (path === 'schedules')
    return {
      upstream: 'scheduler',
      permissions: [name ? 'scheduler:GetSchedule on schedules' : 'scheduler:ListSchedules on *'],
    } as const;
  const action = { 'schedule-groups': 'GetScheduleGroup', tags: 'ListTagsForResource' }[path];
  if (action === undefined) return undefined;
  return { upstream: 'scheduler', permissions: [`scheduler:${action} on SchedulesGroup`] } as const;
}

/** What IAM would check before this request is carried out. */
function permissionsFor(
  service: string,
  operation: string,
  body: Body,
  { queues }: ResourceNames,
): { readonly upstream: keyof Upstreams; readonly permissions: readonly string[] } {
  switch (service) {
    case 'DynamoDB_20120810':
      return { upstream: 'dynamodb', permissions: dynamoDbPermissions(operation, body) };
    case 'AmazonSQS': {
      // A batch needs the permission of what it is a batch of.
      const action = operation.replace(/Batch$/, '');
      const name =
        String(body.QueueUrl ?? body.QueueName)
          .split('/')
          .at(-1) ?? '';
      const queue = queues[name] ?? `unknown queue ${name}`;
      return { upstream: 'sqs', permissions: [`sqs:${action} on ${queue}`] };
    }
    case 'AWSEvents': {
      const entries = body.Entries as readonly { readonly EventBusName?: string }[];
      const buses = entries.map(
        ({ EventBusName = 'default' }) => `events:${operation} on bus ${EventBusName}`,
      );
      return { upstream: 'events', permissions: buses };
    }
    case 'GraniteServiceVersion20100801':
      return { upstream: 'cloudwatch', permissions: [`cloudwatch:${operation} on *`] };
    default:
      return { upstream: 'dynamodb', permissions: [`${service}:${operation} on unknown`] };
  }
}

/**
 * What KMS is asked for in the caller's name, where table and queues of messages are encrypted with a key of the customer's.
 * SQS: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html (a producer needs
 * GenerateDataKey and Decrypt, a consumer Decrypt). DynamoDB names all of these as the least that users of a table need:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html.
 */
const KEY_FOR_TABLE = [
  ...['kms:Encrypt', 'kms:Decrypt', 'kms:ReEncryptFrom', 'kms:ReEncryptTo'],
  ...['kms:GenerateDataKey', 'kms:GenerateDataKeyWithoutPlaintext', 'kms:DescribeKey'],
];

function keyPermissions(permission: string): readonly string[] {
  const [action = '', resource = ''] = permission.split(' on ');
  const actions = () => {
    if (action.startsWith('dynamodb:')) return action === 'dynamodb:DescribeTable' ? [] : KEY_FOR_TABLE;
    // Wakes carry nothing that has to be kept from anybody: their queue is encrypted by SQS's own key.
    if (resource === 'WakeQueue') return [];
    if (action === 'sqs:SendMessage') return ['kms:GenerateDataKey', 'kms:Decrypt'];
    return action === 'sqs:ReceiveMessage' ? ['kms:Decrypt'] : [];
  };
  return actions().map((each) => `${each} on Key`);
}

function dynamoDbPermissions(operation: string, body: Body): readonly string[] {
  if (operation !== 'BatchExecuteStatement')
    return [
      `dynamodb:${operation} on Table${body.IndexName === undefined ? '' : `/index/${body.IndexName}`}`,
    ];
  const statements = body.Statements as readonly { readonly Statement: string }[];
  return statements.map(({ Statement }) => {
    const [verb = ''] = Statement.trim().split(/\s/);
    return `dynamodb:PartiQL${verb.charAt(0)}${verb.slice(1).toLowerCase()} on Table`;
  });
}
