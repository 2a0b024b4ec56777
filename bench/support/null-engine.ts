import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { marshall } from '@aws-sdk/util-dynamodb';
import { rowAfter } from '../../lib/protocol/writes/evaluate.ts';
import { claimWrite } from '../../lib/protocol/writes/worker-writes.ts';
import { jobBody } from '../../lib/wire/message.ts';

/** What a null engine is started with, as JSON. */
export interface NullEngineOrders {
  /** How many messages it hands out. */
  readonly messages: number;
  /** How large their payloads are, above some 60 bytes. @default - no larger */
  readonly payloadBytes?: number;
  /** How long each service takes to answer. @default 0 */
  readonly latency?: Latency;
  /** How many jobs of a table have lapsed, by its name: they stay so, whatever is written. @default - none */
  readonly lapsed?: Readonly<Record<string, number>>;
}

/** Round trips to the services of a real region. */
export interface Latency {
  readonly dynamodbMs: number;
  readonly sqsMs: number;
  /** Each answer takes up to this share longer or shorter. */
  readonly jitter: number;
}

/**
 * Answers like DynamoDB and SQS, after a given latency and without doing anything: what a worker uses against it is its own.
 * Writes its address to stdout and lives as long as its parent keeps the pipe open.
 */
const {
  messages,
  latency,
  payloadBytes = 0,
  lapsed = {},
} = JSON.parse(process.argv[2] ?? '{"messages":0}') as NullEngineOrders;
let left = messages;
const padding = payloadBytes === 0 ? {} : { padding: 'x'.repeat(payloadBytes) };

const latencyOf = (target: string): number => {
  const ms = (target.startsWith('DynamoDB') ? latency?.dynamodbMs : latency?.sqsMs) ?? 0;
  return ms * (1 + (latency?.jitter ?? 0) * (2 * Math.random() - 1));
};

/** The row that a single claim gets back; only its key differs from claim to claim. */
const row = rowAfter(
  claimWrite(
    {
      job: { jobId: 'x', type: 'bench', payload: '{"id":"x","does":"nothing","ms":0}' },
      typeLimits: { leaseMs: 10_000, maxAttempts: 5, maxCrashes: 3 },
      owner: 'null/1',
      skewMs: 0,
    },
    { changedBy: 'null/1', now: Date.now(), shards: 8, expiresAt: 1 },
  ),
  undefined,
);
const marshalled = marshall(row);

const EMPTY_POLL_MS = 1000;

type Body = Readonly<Record<string, unknown>>;
type Entries = readonly { readonly Id: string }[];

const replies: Readonly<Record<string, (body: Body) => object>> = {
  GetItem: () => ({}),
  Query: (body) => lapsedPage(body as unknown as IndexQuery),
  UpdateItem: (body) => {
    const { jobId } = body.Key as { jobId: { S: string } };
    return body.ReturnValues === 'ALL_NEW' ? { Attributes: { ...marshalled, jobId } } : {};
  },
  BatchExecuteStatement: (body) => ({ Responses: (body.Statements as unknown[]).map(() => ({})) }),
  GetQueueUrl: () => ({ QueueUrl: `${endpoint}/000000000000/null` }),
  ReceiveMessage: (body) => {
    const count = Math.min(left, Number(body.MaxNumberOfMessages ?? 1));
    left -= count;
    return count === 0 ? {} : { Messages: Array.from({ length: count }, message) };
  },
  DeleteMessageBatch: (body) => ({ Successful: (body.Entries as Entries).map(({ Id }) => ({ Id })) }),
  SendMessageBatch: (body) => ({
    Successful: (body.Entries as Entries).map(({ Id }) => ({ Id, MessageId: Id })),
  }),
  ChangeMessageVisibilityBatch: (body) => ({
    Successful: (body.Entries as Entries).map(({ Id }) => ({ Id })),
  }),
};

interface IndexQuery {
  readonly TableName: string;
  readonly Limit: number;
  readonly Select?: string;
  readonly KeyConditionExpression: string;
  readonly ExpressionAttributeValues: Readonly<Record<string, { readonly S?: string }>>;
  readonly ExclusiveStartKey?: { readonly jobId: { readonly S: string } };
}

const RUNNING_SHARDS = 8;
/** Long before any skew or grace. */
const lapsedAt = { N: String(Date.now() - 60_000) };

/** A page of a running shard. The place in it is the number that a job's id ends with. */
function lapsedPage(query: IndexQuery): object {
  const partition = Object.values(query.ExpressionAttributeValues).find(({ S }) => S !== undefined)?.S ?? '';
  const asksForLive = /> :|BETWEEN/.test(query.KeyConditionExpression);
  const all = partition.startsWith('r') && !asksForLive ? (lapsed[query.TableName] ?? 0) / RUNNING_SHARDS : 0;
  if (query.Select === 'COUNT') return { Count: all };
  const from = Number(query.ExclusiveStartKey?.jobId.S.split('-')[1] ?? -1) + 1;
  const count = Math.max(0, Math.min(query.Limit, all - from));
  const Items = Array.from({ length: count }, (_, i) => ({
    ...marshalled,
    ...{ jobId: { S: `${partition}-${from + i}` }, leaseShard: { S: partition }, leaseUntil: lapsedAt },
  }));
  const last = Items.at(-1);
  const { jobId, leaseShard, leaseUntil } = last ?? {};
  return {
    ...{ Items, Count: count },
    LastEvaluatedKey: from + count < all && last ? { jobId, leaseShard, leaseUntil } : undefined,
  };
}

function message() {
  const id = randomUUID();
  const body = jobBody('bench', { id, does: 'nothing', ms: 0, ...padding }, { jobId: id });
  return {
    MessageId: id,
    ReceiptHandle: id,
    Body: body,
    // The SDK checks it.
    MD5OfBody: createHash('md5').update(body).digest('hex'),
    Attributes: { SentTimestamp: String(Date.now()), ApproximateReceiveCount: '1' },
  };
}

/** Asked with this target, it tells how many requests of each kind it was sent. */
const REQUESTS = 'NullEngine.Requests';
const requests: Record<string, number> = {};

const server = createServer(async (request, response) => {
  const body = JSON.parse((await buffer(request)).toString() || '{}') as Body;
  const target = String(request.headers['x-amz-target'] ?? '');
  const operation = target.split('.')[1] ?? '';
  if (target === REQUESTS) return void response.end(JSON.stringify(requests));
  requests[operation] = (requests[operation] ?? 0) + 1;
  const latencyMs = latencyOf(target);
  if (latencyMs > 0) await sleep(latencyMs);
  const reply = replies[operation]?.(body) ?? {};
  // An empty queue is polled for a while, as a real one is.
  if (operation === 'ReceiveMessage' && !('Messages' in reply)) await sleep(EMPTY_POLL_MS);
  const text = JSON.stringify(reply);
  response.writeHead(200, {
    'content-type': 'application/x-amz-json-1.0',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
});
let endpoint = '';
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  endpoint = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  process.stdout.write(`${endpoint}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();
