import type { CloudWatchClientConfig } from '@aws-sdk/client-cloudwatch';
import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import type { EventBridgeClientConfig } from '@aws-sdk/client-eventbridge';
import type { SQSClientConfig } from '@aws-sdk/client-sqs';
import { connect, identityOf } from '../aws/connect.ts';
import { createTableInspection } from '../aws/dynamodb/table-inspection.ts';
import { createOperatorEvents } from '../aws/operator-events.ts';
import { createQueueAge } from '../aws/sqs/queue-age.ts';
import type { OperatorAct } from '../protocol/job.ts';
import { defaultSettings, type Settings } from '../settings/settings.ts';
import { SettingsError } from '../settings/settings-error.ts';
import { defined } from '../wire/defined.ts';
import { resourceVariables } from '../wire/environment.ts';
import { isJobId, quoted, type SendOptions } from '../wire/message.ts';
import { BAD_MESSAGE_PREFIX } from '../wire/table.ts';
import type { PayloadIn, Registry, ResultIn, TypeIn } from '../worker/registry.ts';
import { actOnJob, type ReviveOptions } from './act-on-job.ts';
import type { ClientParts } from './client-parts.ts';
import { type EnqueuedItems, enqueueItems } from './enqueue-items.ts';
import { ActRefusedError, BadRequestError, JobNotFoundError } from './errors.ts';
import { type JobRecord, recordOf } from './job-record.ts';
import { type Listing, type ListRequest, listJobs, type listStatuses } from './list-jobs.ts';
import { lookUp, type UnknownJob, unknownJob } from './look-up.ts';
import { type Overview, readOverview } from './overview.ts';
import { createProducer, type Producer, type Sent } from './producer/index.ts';
import { sweptShards } from './swept-shards.ts';
import { resultOf, type WaitOptions, waitForEnd } from './wait-for.ts';

/** Which system a client works with. */
export interface ClientOptions<R extends Registry> {
  /** The name of the jobs table: the stack's output TableName. */
  readonly table: string;
  /** The URL of the job queue: the stack's output QueueUrl. @default - nothing can be sent, revived or taken back */
  readonly queue?: string;
  /** Gives `send` its types, and checks payloads before they are sent. @default - the worker checks them */
  readonly registry?: R;
  /** @default - the standard chain of the AWS SDK */
  readonly region?: string;
  /** The name that rows keep with what this client does. @default - 'client' */
  readonly actor?: string;
  /**
   * The deployment's event bus and service name, for the JobCancelled of a job that this client ends before a worker had it.
   *
   * @default - that event is not published
   */
  readonly events?: { readonly bus: string; readonly service: string };
  /** The limits that the workers have. @default - the default settings */
  readonly settings?: Settings;
  /** @default - the standard chain of the AWS SDK */
  readonly dynamodb?: DynamoDBClientConfig;
  /** @default - region and credentials of `dynamodb` */
  readonly sqs?: SQSClientConfig;
  /** @default - the standard chain of the AWS SDK */
  readonly eventbridge?: EventBridgeClientConfig;
  /** Tells the age of the queue's oldest message. @default - region and credentials of `dynamodb` */
  readonly cloudwatch?: CloudWatchClientConfig;
}

/** Which jobs to list, and how many. */
export interface JobList extends Partial<Omit<ListRequest, 'cursor'>> {
  /** @default - 'unfinished': the pending and running ones */
  readonly status?: (typeof listStatuses)[number];
  /** Where an earlier listing stopped. */
  readonly cursor?: string;
  /** Read the whole table: the only way to done and cancelled jobs. */
  readonly scan?: boolean;
}

/** Jobs from code: send them, look at them, wait for them, and act on them. */
export interface Client<R extends Registry = Registry> extends Producer<R> {
  /** The job under this id: one read. Without a row, what can be said of it, or the rejected message that named it. */
  get(jobId: string): Promise<JobRecord | UnknownJob>;
  /**
   * Waits until the job has ended and returns its result, typed by what `send` returned or by the option `type`. Throws a `JobFailedError`, a `JobCancelledError`, or after the
   * time a `WaitTimedOutError`. A job that has no row yet is waited for. Costs at most 7 + timeout / 5 s looks.
   */
  waitFor<Type extends TypeIn<R> = TypeIn<R>>(
    job: string | Sent<Type>,
    options?: WaitOptions<Type>,
  ): Promise<ResultIn<R, Type>>;
  /** Jobs by status, type, owner and age, from the index. Throws a `ScanNeededError` with the price where it has none. */
  list(request?: JobList): Promise<Listing>;
  /** Ends a pending job; the worker of a running one is told to stop. */
  cancel(jobId: string): Promise<JobRecord>;
  /** Runs a failed or cancelled job again, with new budgets: when it was to run, if that is still ahead. */
  revive(jobId: string, options?: ReviveOptions): Promise<JobRecord>;
  /** Takes a running job from its worker and gives it to the next. */
  takeBack(jobId: string): Promise<JobRecord>;
  /** The system in figures, from counts of the index and the queue. */
  stats(options?: { readonly types?: readonly string[] }): Promise<Overview>;
  /**
   * A job as items for a transaction of yours, so that it is written together with your own rows or not at all. Send the
   * transaction, then call `sendHint`. Throws an `EnqueueRefusedError` where it would have to guess.
   */
  enqueueItems<Type extends TypeIn<R>>(
    type: Type,
    payload: PayloadIn<R, Type>,
    options?: SendOptions,
  ): Promise<EnqueuedItems>;
  /** Closes its connections. */
  close(): void;
}

const LISTED = 50;
/** Index pages that one count may read: a million jobs a shard, a fraction of a cent. */
const PAGES_EACH = 250;
const ACTOR = /^[A-Za-z0-9._-]{1,64}$/;

/** A client of one system. Nothing is sent before it is used. */
export function createClient<R extends Registry = Registry>(options: ClientOptions<R>): Client<R> {
  checkOptions(options);
  const { registry, actor = 'client' } = options;
  const { connection, reading, parts, producer } = openParts(options, actor);

  const act = async (
    verb: OperatorAct['act'],
    jobId: string,
    options?: ReviveOptions,
  ): Promise<JobRecord> => {
    checkId(jobId);
    const acted = await actOnJob(await parts(), jobId, verb, options);
    if (acted.outcome === 'absent') throw new JobNotFoundError(await unknownJob(reading, jobId));
    if (acted.outcome === 'refused') throw new ActRefusedError(verb, acted.job);
    return recordOf(acted.job);
  };

  return {
    ...producer,
    async get(jobId) {
      checkId(jobId);
      const job = await lookUp(reading, jobId);
      return job.status === 'unknown' ? job : recordOf(job);
    },
    async waitFor(job, wait) {
      const { jobId, type = wait?.type } = typeof job === 'string' ? { jobId: job } : job;
      checkId(jobId);
      // A handler of the registry returned it, or one of an earlier version: the type is as good as the deployment.
      return resultOf(await waitForEnd(reading, jobId, { ...wait, type })) as never;
    },
    list: async ({ status = 'unfinished', limit = LISTED, ...request } = {}) =>
      listJobs(await parts(), { status, limit, ...request }),
    cancel: (jobId) => act('cancel', jobId),
    revive: (jobId, options) => act('revive', jobId, options),
    takeBack: (jobId) => act('takeBack', jobId),
    stats: async ({ types } = {}) =>
      readOverview(await parts(), reading.clock.now(), { types, pagesEach: PAGES_EACH }),
    enqueueItems: (type, payload, own) => enqueueItems({ ...reading, registry, actor }, type, payload, own),
    close: () => connection.close(),
  };
}

/** What the client's verbs work with. */
function openParts<R extends Registry>(options: ClientOptions<R>, actor: string) {
  const { registry, settings = defaultSettings, queue: queueUrl } = options;
  const own = defined({ region: options.region });
  const connection = connect({
    tableName: options.table,
    settings,
    dynamodb: { ...own, ...options.dynamodb },
    sqs: { ...own, ...options.sqs },
    polls: false,
  });
  const { table, sqs, clock, dynamoDb } = connection;
  const queue = () => {
    if (queueUrl === undefined) throw new SettingsError([`the client's queue is not given; ${THE_QUEUE}`]);
    return connection.queueAt(queueUrl);
  };
  const reading = {
    ...{ found: { tableName: options.table, queueUrl }, table, sqs, clock, queue, settings },
    inspection: createTableInspection({ client: dynamoDb, tableName: options.table }),
    store: connection.storeOf(actor),
    queueAge: createQueueAge({
      ...{ queueUrl: queueUrl ?? '', clock },
      config: { ...own, ...identityOf(options.dynamodb), ...options.cloudwatch },
    }),
    events:
      options.events &&
      createOperatorEvents({ ...options.events, config: { ...own, ...options.eventbridge } }),
  };
  return {
    ...{ connection, reading },
    parts: whole(reading, (own) => connection.storeOf(actor, own)),
    // Asked for its queue only when it sends.
    producer: createProducer<R>({
      ...{ registry, settings, clock },
      queue: { sendJobs: (bodies) => queue().sendJobs(bodies) },
    }),
  };
}

/**
 * The parts with the number of shards that the reaper sweeps: one read, when it is first needed. The number never falls, so
 * it is kept; before the first reaper ran there is none to keep.
 */
function whole<Parts extends ClientParts>(
  reading: Parts,
  storeFor: (settings: Settings) => ClientParts['store'],
): () => Promise<Parts> {
  let known: Parts | undefined;
  return async () => {
    if (known !== undefined) return known;
    const shards = await sweptShards(reading.table);
    if (shards === undefined) return reading;
    const settings = { ...reading.settings, shards };
    known = { ...reading, settings, store: storeFor(settings) };
    return known;
  };
}

const THE_QUEUE = `it must be the URL of the job queue: the stack's output QueueUrl, or locally what 'leasehold env' prints as ${resourceVariables.queueUrl}`;

function checkOptions({ table, queue, actor }: ClientOptions<Registry>): void {
  const problems: string[] = [];
  if (typeof table !== 'string' || table === '')
    problems.push(
      `the client's table is ${quoted(table)}; it must be the name of the jobs table: the stack's output TableName, or locally what 'leasehold env' prints as ${resourceVariables.tableName}`,
    );
  if (queue !== undefined && !URL.canParse(queue))
    problems.push(`the client's queue is ${quoted(queue)}; ${THE_QUEUE}`);
  if (actor !== undefined && !ACTOR.test(actor))
    problems.push(
      `the client's actor is ${quoted(actor)}; it must be 1 to 64 characters of A-Z a-z 0-9 . _ -`,
    );
  if (problems.length > 0) throw new SettingsError(problems);
}

/** Also the row of a rejected message has an id. */
function checkId(jobId: unknown): void {
  const name =
    typeof jobId === 'string' && jobId.startsWith(BAD_MESSAGE_PREFIX)
      ? jobId.slice(BAD_MESSAGE_PREFIX.length)
      : jobId;
  if (!isJobId(name)) throw new BadRequestError('jobId', jobId, '1 to 200 characters of A-Z a-z 0-9 . _ -');
}
