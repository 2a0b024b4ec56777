import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { streamSSE } from 'hono/streaming';
import { type ActParts, actOnJob } from '../../client/act-on-job.ts';
import { actOnType, isRefusal, type TypeActParts } from '../../client/act-on-type.ts';
import { BadRequestError } from '../../client/errors.ts';
import type { Job } from '../../protocol/job.ts';
import type { Clock, JobStore, Table } from '../../protocol/ports.ts';
import type { Settings } from '../../settings/settings.ts';
import { LeaseholdError } from '../../wire/leasehold-error.ts';
import type { Wait } from '../inspect/parked.ts';
import type { Feed } from './feed.ts';
import { pageHeaders, sameOriginOnly, tokenRequired } from './guard.ts';
import { detailOf } from './job-detail.ts';
import { matchingJobs, matchingRequestIn, NO_FILTER } from './matching-jobs.ts';
import type { PageFiles } from './page-files.ts';
import {
  type ActionReply,
  type JobAction,
  jobActions,
  type Trend,
  type TrendSpan,
  type TypeAction,
  trendSpans,
  typeActions,
  type WorkerAction,
  workerActions,
} from './page-messages.ts';
import { replyToAction } from './reply-to-action.ts';
import type { LocalWorkers } from './start-console.ts';
import { readUnits } from './watch/read-budget.ts';
import type { Watcher } from './watch/watcher.ts';

export interface ConsoleAppOptions {
  readonly port: () => number;
  readonly token: string;
  readonly files: PageFiles;
  readonly feed: Feed;
  readonly watcher: Watcher;
  readonly table: Pick<Table, 'query'>;
  readonly store: Pick<JobStore, 'read'>;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly actions?: ActParts & TypeActParts;
  readonly waitOf: (job: Job) => Promise<Wait>;
  readonly trend: (span: TrendSpan) => Promise<Trend>;
  readonly local?: Pick<LocalWorkers, 'signal' | 'killCell' | 'check'>;
  readonly tellUnknown?: (jobId: string) => Promise<string>;
  readonly stopping: AbortSignal;
}

/** Fits the maximum number of ids at their maximum length, in any alphabet, and a cursor. */
const MAX_BODY_BYTES = 256 * 1024;
/** A comment now and then reveals a dead connection to both ends. */
const PULSE_MS = 15_000;

const NO_SUCH_JOB =
  'There is no such job, or its row has expired. A message that waits in the queue has no row yet';
/** The longest job id plus the prefix of rejected messages. */
const MAX_ID_LENGTH = 300;
const MANY_AT_ONCE = 100;
const NO_IDS = `The body must be {"jobIds": […]}, with 1 to ${MANY_AT_ONCE} ids of jobs`;
/** The controls, the limit's row and a count. */
const WAIT_UNITS = 3;
const READ_ONLY =
  'This console is read-only. Start it with --write, and with credentials that may change jobs';

export function createConsoleApp(options: ConsoleAppOptions): Hono {
  const app = new Hono();
  app.use(pageHeaders);
  app.use(sameOriginOnly(options.port));
  app.use('/api/*', tokenRequired(options.token));
  app.use('/api/*', async (c, next) => {
    await next();
    c.header('Cache-Control', 'no-store');
  });
  for (const [path, file] of options.files)
    app.get(path, (c) => c.body(file.body, 200, { 'Content-Type': file.type, 'Cache-Control': 'no-cache' }));
  addStream(app, options);
  addJobs(app, options);
  addReads(app, options);
  addWorkers(app, options);
  addTypes(app, options);
  app.notFound((c) => c.json(refusal('Not found'), 404));
  app.onError((error, c) => {
    const message = error instanceof LeaseholdError ? error.message : 'The console failed; see the terminal';
    return c.json(refusal(message), error instanceof BadRequestError ? 400 : 500);
  });
  return app;
}

const refusal = (message: string): ActionReply => ({ ok: false, message });

const limitedBody = bodyLimit({
  maxSize: MAX_BODY_BYTES,
  onError: (c) => c.json(refusal('The body is too large'), 413),
});

function addStream(app: Hono, { feed, stopping }: ConsoleAppOptions): void {
  app.get('/api/stream', (c) =>
    streamSSE(c, async (stream) => {
      const ended = Promise.withResolvers<void>();
      const detach = feed.attach(
        (event, data) => void stream.writeSSE({ event, data: JSON.stringify(data) }),
      );
      const pulse = setInterval(() => void stream.write(': pulse\n\n'), PULSE_MS);
      stream.onAbort(ended.resolve);
      stopping.addEventListener('abort', () => ended.resolve());
      await ended.promise;
      clearInterval(pulse);
      detach();
    }),
  );
}

function addJobs(app: Hono, options: ConsoleAppOptions): void {
  const { watcher, store, clock, settings, actions, waitOf, tellUnknown } = options;
  app.get('/api/jobs/:id', async (c) => {
    const jobId = c.req.param('id');
    if (jobId.length > MAX_ID_LENGTH) return c.json(refusal(NO_SUCH_JOB), 404);
    const job = await store.read(jobId);
    watcher.budget.spend(readUnits(job, 1));
    if (job === undefined) return c.json(refusal((await tellUnknown?.(jobId)) ?? NO_SUCH_JOB), 404);
    watcher.jobs.takeRow(job);
    const wait = await waitOf(job);
    if (wait.place !== undefined || wait.pausedAt !== undefined) watcher.budget.spend(WAIT_UNITS);
    return c.json(detailOf(job, clock.now(), settings, watcher.jobs.get(jobId), wait));
  });

  app.post('/api/jobs/:id/:action', async (c) => {
    const { id, action } = c.req.param();
    if (!isJobAction(action)) return c.json(refusal('There is no such action'), 404);
    if (actions === undefined) return c.json(refusal(READ_ONLY), 403);
    if (id.length > MAX_ID_LENGTH) return c.json(refusal(NO_SUCH_JOB), 404);
    const reply = replyToAction(await actOnJob(actions, id, action), action);
    watcher.note(id);
    return c.json(reply, reply.ok ? 200 : 409);
  });
}

function jobIdsIn(body: unknown): readonly string[] | undefined {
  const { jobIds } = (typeof body === 'object' && body !== null ? body : {}) as { jobIds?: unknown };
  if (!Array.isArray(jobIds) || jobIds.length === 0 || jobIds.length > MANY_AT_ONCE) return undefined;
  const isId = (id: unknown) => typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH;
  return jobIds.every(isId) ? [...new Set(jobIds as string[])] : undefined;
}

function addReads(app: Hono, options: ConsoleAppOptions): void {
  const { watcher, trend } = options;
  app.get('/api/trend/:span', async (c) => {
    const { span } = c.req.param();
    if (!Object.hasOwn(trendSpans, span)) return c.json(refusal('The span must be 1h, 6h or 1d'), 404);
    return c.json(await trend(span as TrendSpan));
  });
  app.post('/api/rows', limitedBody, async (c) => {
    const jobIds = jobIdsIn(await c.req.json().catch(() => undefined));
    if (jobIds === undefined) return c.json(refusal(NO_IDS), 400);
    await watcher.readRows(jobIds);
    return c.json({ ok: true, message: 'Read' });
  });
  app.post('/api/matching', limitedBody, async (c) => {
    const request = matchingRequestIn(await c.req.json().catch(() => undefined));
    if (request === undefined) return c.json(refusal(NO_FILTER), 400);
    return c.json({ ok: true, message: 'Read', ...(await matchingJobs(options, request)) });
  });
}

function addWorkers(app: Hono, { local }: ConsoleAppOptions): void {
  const notHere = 'Only workers of a local stack can be signalled';
  app.post('/api/workers/:pid/:action', (c) => {
    const { pid, action } = c.req.param();
    if (!isWorkerAction(action)) return c.json(refusal('There is no such action'), 404);
    if (local === undefined) return c.json(refusal(notHere), 403);
    if (!isPid(pid) || !local.signal(Number(pid), action))
      return c.json(refusal('This worker has ended'), 404);
    return c.json({ ok: true, message: `${signalNames[action]} sent to ${pid}` });
  });
  app.post('/api/cells/:pid/kill', async (c) => {
    const { pid } = c.req.param();
    if (local === undefined) return c.json(refusal(notHere), 403);
    if (!isPid(pid) || !(await local.killCell(Number(pid))))
      return c.json(refusal('This cell has ended'), 404);
    return c.json({ ok: true, message: `SIGKILL sent to cell ${pid}` });
  });
  const { check } = local ?? {};
  if (check !== undefined)
    app.post('/api/check', async (c) => {
      const jobs: unknown = await c.req.json().catch(() => undefined);
      if (!Array.isArray(jobs))
        return c.json(refusal('The body must be [{"type": …, "payload": …}, …]'), 400);
      return c.json(await check(jobs));
    });
}

const typeReplies: Readonly<Record<TypeAction, string>> = {
  pause: 'Paused: within 10 s, no more of its jobs start',
  resume: 'Its jobs run again',
  limit: 'Changed: workers notice within 10 s',
};

/** Refused with the sentences of the command line. */
function addTypes(app: Hono, { watcher, actions }: ConsoleAppOptions): void {
  app.post('/api/types/:type/:action', limitedBody, async (c) => {
    const { type, action } = c.req.param();
    if (!isTypeAction(action)) return c.json(refusal('There is no such action'), 404);
    if (actions === undefined) return c.json(refusal(READ_ONLY), 403);
    const { limit, key } = ((await c.req.json().catch(() => undefined)) ?? {}) as {
      readonly limit?: unknown;
      readonly key?: string;
    };
    try {
      await actOnType(actions, { act: action, type, limit, key });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return c.json(refusal(error.message), 409);
    }
    watcher.noteControl();
    return c.json({ ok: true, message: typeReplies[action] });
  });
}

const isTypeAction = (text: string): text is TypeAction => (typeActions as readonly string[]).includes(text);

const isPid = (text: string): boolean => /^\d{1,10}$/.test(text);

const signalNames: Readonly<Record<WorkerAction, string>> = {
  kill: 'SIGKILL',
  pause: 'SIGSTOP',
  resume: 'SIGCONT',
};

const isJobAction = (text: string): text is JobAction => (jobActions as readonly string[]).includes(text);
const isWorkerAction = (text: string): text is WorkerAction =>
  (workerActions as readonly string[]).includes(text);
