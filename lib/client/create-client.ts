import type { CloudWatchClientConfig } from '@aws-sdk/client-cloudwatch';
import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import type { EventBridgeClientConfig } from '@aws-sdk/client-eventbridge';
import type { SQSClientConfig } from '@aws-sdk/client-sqs';
import { systemClock } from '../aws/clock.ts';
import { type AwsOptions, connect, identityOf } from '../aws/connect.ts';
import { createTableInspection } from '../aws/dynamodb/table-inspection.ts';
import { createOperatorEvents } from '../aws/operator-events.ts';
import { createQueueAge } from '../aws/sqs/queue-age.ts';
import type { OperatorAct } from '../protocol/job.ts';
import type { Settings } from '../settings/settings.ts';
import { SettingsError } from '../settings/settings-error.ts';
import { defined } from '../wire/defined.ts';
import { resourceVariables } from '../wire/environment.ts';
import { isJobId, quoted } from '../wire/message.ts';
import { BAD_MESSAGE_PREFIX } from '../wire/table.ts';
import type { Registry, ResultIn, TypeIn } from '../worker/registry.ts';
import { actOnJob, type ReviveOptions } from './act-on-job.ts';
import { actOnType, type TypeAct } from './act-on-type.ts';
import type { ClientParts } from './client-parts.ts';
import { type EnqueuedItems, enqueueItems } from './enqueue-items.ts';
import { ActRefusedError, BadRequestError, JobNotFoundError } from './errors.ts';
import { type JobRecord, recordOf } from './job-record.ts';
import { type Listing, type ListRequest, listJobs, type listStatuses } from './list-jobs.ts';
import { lookUp, type UnknownJob, unknownJob } from './look-up.ts';
import { type Overview, readOverview } from './overview.ts';
import { createProducer, type JobArguments, type Producer, type Sent } from './producer/index.ts';
import { queueProblem, queueUrlOf, routingOf, senderSettings } from './producer/queue-url.ts';
import { sweptShards } from './swept-shards.ts';
import { resultOf, type WaitOptions, waitForEnd, watchJob } from './wait-for.ts';

/** Which system a client uses. */
export interface ClientOptions<R extends Registry> extends AwsOptions {
  /** Stack output `TableName`. @default - `LEASEHOLD_TABLE_NAME` */
  readonly table?: string;
  /** Stack output `QueueUrl`. @default - `LEASEHOLD_QUEUE_URL`; without it `send`, `revive` and `takeBack` throw */
  readonly queue?: string;
  /** Types `send` and checks payloads before sending. @default - the worker checks them */
  readonly registry?: R;
  /** Recorded in the rows that this client changes. @default 'client' */
  readonly actor?: string;
  /** Event bus and service name for the JobCancelled events of jobs that no worker ran. @default - not published */
  readonly events?: { readonly bus: string; readonly service: string };
  /** The workers' settings that differ from the defaults. @default - `fair` from `LEASEHOLD_FAIR` */
  readonly settings?: Partial<Settings>;
  /** @default - region, credentials and endpoint of the client */
  readonly dynamodb?: DynamoDBClientConfig;
  /** @default - as `dynamodb`, except for its endpoint */
  readonly sqs?: SQSClientConfig;
  /** @default - region, credentials and endpoint of the client */
  readonly eventbridge?: EventBridgeClientConfig;
  /** For the age of the oldest message. @default - as `sqs` */
  readonly cloudwatch?: CloudWatchClientConfig;
}

/** Which jobs to list. */
export interface JobList extends Partial<Omit<ListRequest, 'cursor'>> {
  /** `unfinished` means pending and running. @default 'unfinished' */
  readonly status?: (typeof listStatuses)[number];
  /** From the previous listing. */
  readonly cursor?: string;
  /** Read the whole table; needed for done and cancelled jobs. */
  readonly scan?: boolean;
}

/** Sends, finds, awaits and manages jobs. */
export interface Client<R extends Registry = Registry> extends Producer<R> {
  /** Reads a job. Without a row, returns what the queue or a rejected message shows. */
  get(jobId: string): Promise<JobRecord | UnknownJob>;
  /**
   * Returns the job's result once it ends, or throws a `JobFailedError`, `JobCancelledError` or `WaitTimedOutError`.
   * The job may still be queued.
   */
  waitFor<Type extends TypeIn<R> = TypeIn<R>>(
    job: string | Sent<Type>,
    options?: WaitOptions<Type>,
  ): Promise<ResultIn<R, Type>>;
  /** Yields the job after each change of status, attempt or progress until it ends; throws a `WaitTimedOutError` like `waitFor`. */
  watch(job: string | Sent, options?: WaitOptions): AsyncIterable<JobRecord>;
  /** Lists jobs from the index. Throws a `ScanNeededError` with the price if that needs a scan. */
  list(request?: JobList): Promise<Listing>;
  /** Ends a pending job, or asks the worker of a running one to stop. */
  cancel(jobId: string): Promise<JobRecord>;
  /** Runs a failed or cancelled job again with fresh budgets, not before its start time. */
  revive(jobId: string, options?: ReviveOptions): Promise<JobRecord>;
  /** Takes a running job from its worker for another one to run. */
  takeBack(jobId: string): Promise<JobRecord>;
  /** Stops starting jobs of the type within 10 s; running ones continue. */
  pause(type: TypeIn<R>): Promise<void>;
  /** Resumes a paused type and returns how many jobs were waiting. May be repeated. */
  resume(type: TypeIn<R>): Promise<number>;
  /** Changes how many jobs of a limited type, or of one key, run at once; `undefined` returns to the definition's. */
  limit(type: TypeIn<R>, limit: number | undefined, options?: { readonly key?: string }): Promise<void>;
  /** Counts jobs from the index and the queue. */
  stats(options?: { readonly types?: readonly string[] }): Promise<Overview>;
  /** A job as items for your own transaction. Send it, then call `sendHint`. Needs a registry. */
  enqueueItems<Type extends TypeIn<R>>(type: Type, ...job: JobArguments<R, Type>): Promise<EnqueuedItems>;
  close(): void;
}

const LISTED = 50;
/** A million jobs per shard, for a fraction of a cent. */
const PAGES_EACH = 250;
const ACTOR = /^[A-Za-z0-9._-]{1,64}$/;

/** Creates a client. Its first use checks the options and connects, so a build can load the module without a system. */
export function createClient<R extends Registry = Registry>(options: ClientOptions<R> = {}): Client<R> {
  const { registry, settings, actor = 'client' } = options;
  let opened: ReturnType<typeof openParts<R>> | undefined;
  const open = () => {
    opened ??= openParts(options, actor);
    return opened;
  };
  const producer = createProducer<R>({
    registry,
    settings,
    queue: { sendJobs: async (bodies) => open().reading.queue().sendJobs(bodies) },
  });

  const act = async (verb: OperatorAct['act'], jobId: string, options?: ReviveOptions) => {
    checkId(jobId);
    const acted = await actOnJob(await open().parts(), jobId, verb, options);
    if (acted.outcome === 'absent') throw new JobNotFoundError(await unknownJob(open().reading, jobId));
    if (acted.outcome === 'refused') throw new ActRefusedError(verb, acted.job);
    return recordOf(acted.job);
  };

  const control = async (request: TypeAct) => actOnType({ ...open().reading, registry, by: actor }, request);

  return {
    ...producer,
    async get(jobId) {
      checkId(jobId);
      const job = await lookUp(open().reading, jobId);
      return job.status === 'unknown' ? job : recordOf(job);
    },
    async waitFor(job, wait) {
      const { jobId, type = wait?.type } = typeof job === 'string' ? { jobId: job } : job;
      checkId(jobId);
      // Only as type-safe as the deployment: an older handler may have returned it.
      return resultOf(await waitForEnd(open().reading, jobId, { ...wait, type })) as never;
    },
    async *watch(job, wait) {
      const { jobId, type = wait?.type } = typeof job === 'string' ? { jobId: job } : job;
      checkId(jobId);
      yield* watchJob(open().reading, jobId, { ...wait, type });
    },
    list: async ({ status = 'unfinished', limit = LISTED, ...request } = {}) =>
      listJobs(await open().parts(), { status, limit, ...request }),
    cancel: (jobId) => act('cancel', jobId),
    revive: (jobId, options) => act('revive', jobId, options),
    takeBack: (jobId) => act('takeBack', jobId),
    async pause(type) {
      await control({ act: 'pause', type });
    },
    resume: (type) => control({ act: 'resume', type }),
    async limit(type, limit, { key } = {}) {
      await control({ act: 'limit', type, key, limit });
    },
    stats: async ({ types } = {}) =>
      readOverview(await open().parts(), systemClock.now(), { types, pagesEach: PAGES_EACH }),
    enqueueItems: async (type, ...[payload, own]) =>
      enqueueItems({ ...open().reading, registry, actor }, type, payload, own),
    close: () => opened?.connection.close(),
  };
}

function openParts<R extends Registry>(options: ClientOptions<R>, actor: string) {
  const { region, credentials, endpoint } = options;
  const settings = senderSettings(options.settings);
  const { tableName, queueUrl } = checkOptions(options);
  const own = defined({ region, credentials, endpoint });
  const connection = connect({
    tableName,
    settings,
    dynamodb: { ...own, ...options.dynamodb },
    sqs: { ...own, ...options.sqs },
    polls: false,
  });
  const { table, sqs, clock, dynamoDb } = connection;
  const routing = routingOf(options.queue);
  const queue = () => {
    if (queueUrl === undefined) throw new SettingsError([queueProblem('client', undefined)]);
    return connection.queueAt(queueUrl, routing);
  };
  const reading = {
    found: { tableName, queueUrl },
    table,
    sqs,
    clock,
    queue,
    settings,
    routing,
    inspection: createTableInspection({ client: dynamoDb, tableName }),
    store: connection.storeOf(actor),
    queueAge: createQueueAge({
      queueUrl: queueUrl ?? '',
      clock,
      config: { ...own, ...identityOf(options.dynamodb), ...options.cloudwatch },
    }),
    events:
      options.events &&
      createOperatorEvents({ ...options.events, config: { ...own, ...options.eventbridge } }),
  };
  return {
    connection,
    reading,
    parts: whole(reading, (own) => connection.storeOf(actor, own)),
  };
}

/** Read once, because the reaper's shard count never falls. */
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

function checkOptions({ table, queue, actor }: ClientOptions<Registry>) {
  const problems: string[] = [];
  const tableName = table ?? process.env[resourceVariables.tableName];
  if (!tableName)
    problems.push(
      `the client's table is not given; set ${resourceVariables.tableName}, or the option 'table', to the name of the jobs table: the stack's output TableName, or locally what 'leasehold dev --env' prints`,
    );
  const queueUrl = queueUrlOf(queue);
  if (queueUrl !== undefined && !URL.canParse(queueUrl)) problems.push(queueProblem('client', queueUrl));
  if (actor !== undefined && !ACTOR.test(actor))
    problems.push(
      `the client's actor is ${quoted(actor)}; it must be 1 to 64 characters of A-Z a-z 0-9 . _ -`,
    );
  if (problems.length > 0) throw new SettingsError(problems);
  return { tableName: tableName ?? '', queueUrl };
}

/** Rows of rejected messages have IDs, too. */
function checkId(jobId: unknown): void {
  const name =
    typeof jobId === 'string' && jobId.startsWith(BAD_MESSAGE_PREFIX)
      ? jobId.slice(BAD_MESSAGE_PREFIX.length)
      : jobId;
  if (!isJobId(name)) throw new BadRequestError('jobId', jobId, '1 to 200 characters of A-Z a-z 0-9 . _ -');
}
