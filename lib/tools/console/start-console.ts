import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { readWait } from '../../client/read-waits.ts';
import type { Clock, Events, JobQueue, JobStore, Table } from '../../protocol/ports.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Routing } from '../../wire/pools.ts';
import { type HealthSigns, healthOf, type LastHour } from '../inspect/health.ts';
import { healthStrip } from '../inspect/health-strip.ts';
import { processOf } from '../inspect/worker-name.ts';
import { createConsoleApp } from './console-app.ts';
import { Feed } from './feed.ts';
import { loadPageFiles } from './page-files.ts';
import {
  type Hello,
  TOKEN_PARAMETER,
  type Trend,
  type TrendSpan,
  type Where,
  type WorkerAction,
  type WorkerSummary,
} from './page-messages.ts';
import { Watcher, type WatcherOptions } from './watch/watcher.ts';
import { workerSummaries } from './worker-summaries.ts';

export interface ConsoleOptions {
  readonly tableName: string;
  readonly table: Table;
  readonly store: JobStore;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly queue?: Pick<JobQueue, 'sendHints'>;
  readonly events?: Events;
  readonly port?: number;
  /** Reads the whole table once, which costs by its size. @default - only jobs seen to finish are known */
  readonly scan?: WatcherOptions['scan'];
  readonly local?: LocalWorkers;
  readonly queueDepth?: WatcherOptions['queueDepth'];
  readonly queueAge?: WatcherOptions['queueAge'];
  readonly poolsOf?: WatcherOptions['poolsOf'];
  /** The default queue, by which pending jobs name theirs. */
  readonly queueUrl?: string;
  readonly routing?: Routing;
  /** Recorded with what is paused or limited. @default 'console' */
  readonly actor?: string;
  /** The deployed system's own metrics. @default - what this console sees */
  readonly metrics?: Metrics;
  readonly where?: Where;
  readonly send?: () => string | undefined;
  readonly work?: string;
  readonly tellUnknown?: (jobId: string) => Promise<string>;
  readonly onProblem?: (error: unknown) => void;
  /** @default - frequent on this machine, rare in an account */
  readonly rhythm?: Rhythm;
}

export interface LocalWorkers {
  workers(): readonly WorkerSummary[];
  signal(pid: number, action: WorkerAction): boolean;
  killCell(pid: number): Promise<boolean>;
  readonly check?: (
    jobs: readonly { readonly type: string; readonly payload: string }[],
  ) => Promise<readonly (string | null)[]>;
  /** Called once; returns a function that disconnects. */
  connect(watcher: Watcher, workersChanged: () => void): () => void;
}

export interface Metrics {
  trend(span: TrendSpan): Promise<Trend>;
  lastHour(): Promise<LastHour>;
}

type Rhythm = Pick<
  WatcherOptions,
  'pollMs' | 'idlePollMs' | 'queueEveryMs' | 'failuresEveryMs' | 'reads' | 'readUnits'
>;

/** In an account each look costs one query per shard. */
const RHYTHMS: Readonly<Record<Hello['mode'], Rhythm>> = {
  local: { pollMs: 400, idlePollMs: 5_000, queueEveryMs: 400, failuresEveryMs: 1_000 },
  account: {
    pollMs: 2_000,
    idlePollMs: 0,
    queueEveryMs: 10_000,
    failuresEveryMs: 5_000,
    reads: { running: 2_000, head: 25, stretch: 250, stretches: 1, rows: 10 },
    readUnits: 15,
  },
};

export async function startConsole(options: ConsoleOptions) {
  const { table, store, settings, clock, queue, events, local } = options;
  const files = await loadPageFiles();
  const token = randomBytes(18).toString('base64url');
  const stopping = new AbortController();
  const mode: Hello['mode'] = local === undefined ? 'account' : 'local';
  const watcher = new Watcher({
    ...options,
    rescans: mode === 'local',
    ...(options.rhythm ?? RHYTHMS[mode]),
  });
  const by = options.actor ?? 'console';
  const actions =
    queue === undefined ? undefined : { store, table, by, queue: () => queue, clock, settings, events };
  const workers = () => allWorkers(watcher, options);
  const lastHour = createLastHour(options, watcher);
  const feed = new Feed({
    watcher,
    clock,
    hello: () => helloOf(options, mode),
    workers,
    figures: () => {
      const signs: HealthSigns = {
        ...watcher.signs(),
        workers: busyOf(workers(), mode),
        lastHour: lastHour(),
      };
      const health = healthOf(signs, settings);
      const { parked } = signs;
      return { ...watcher.figures(), parked, health, strip: healthStrip(signs, health) };
    },
  });
  const disconnect = local?.connect(watcher, () => feed.workersChanged());
  let port = 0;
  const app = createConsoleApp({
    token,
    files,
    feed,
    watcher,
    table,
    store,
    clock,
    settings,
    actions,
    local,
    port: () => port,
    trend: (span) => readTrend(options, watcher, span),
    waitOf: (job) => readWait({ ...options, found: options }, job),
    tellUnknown: options.tellUnknown,
    stopping: stopping.signal,
  });
  const server = createAdaptorServer({ fetch: app.fetch });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  ({ port } = server.address() as AddressInfo);
  return {
    /** Browsers do not send the fragment, so the token stays private. */
    url: `http://127.0.0.1:${port}/#${TOKEN_PARAMETER}=${token}`,
    port,
    token,
    watcher,
    async stop(): Promise<void> {
      disconnect?.();
      stopping.abort();
      feed.stop();
      const closed = new Promise((resolve) => server.close(resolve));
      if ('closeAllConnections' in server) server.closeAllConnections();
      await Promise.all([closed, watcher.stop()]);
    },
  };
}

function allWorkers(watcher: Watcher, { local, clock, settings }: ConsoleOptions): readonly WorkerSummary[] {
  const seen = workerSummaries([...watcher.jobs.all()], clock.now(), settings);
  if (local === undefined) return seen;
  const holders = new Map(seen.map((worker) => [processOf(worker.name) ?? worker.name, worker]));
  const own = local.workers().map((worker) => withJobs(worker, holders.get(worker.name)));
  for (const { name } of own) holders.delete(name);
  return [...own, ...[...holders].map(([name, worker]) => ({ ...worker, name }))];
}

/** A process that polls its queue itself is known by its leases to be busy. */
function withJobs(worker: WorkerSummary, holder: WorkerSummary | undefined): WorkerSummary {
  if (worker.invocations !== undefined || worker.state === 'gone' || holder === undefined) return worker;
  const { since, jobs } = holder;
  if (worker.state === 'paused' || jobs.length === 0) return { ...worker, jobs };
  return { ...worker, state: 'busy', since, jobs };
}

/** In an account, idle workers cannot be seen. */
function busyOf(workers: readonly WorkerSummary[], mode: Hello['mode']): HealthSigns['workers'] {
  const count = (state: WorkerSummary['state']) => workers.filter((worker) => worker.state === state).length;
  const all = workers.filter(({ state }) => state !== 'gone' && state !== 'stale').length;
  return { busy: count('busy'), paused: count('paused'), all: mode === 'local' ? all : undefined };
}

const METRICS_EVERY_MS = 60_000;

/** Asks CloudWatch once a minute while a page is open, because each request is billed. */
function createLastHour({ metrics, clock, local, onProblem }: ConsoleOptions, watcher: Watcher) {
  let known: LastHour | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  return (): LastHour | undefined => {
    if (metrics === undefined) return local === undefined ? undefined : watcher.trend.lastHour(clock.now());
    if (clock.monotonic() - askedAt >= METRICS_EVERY_MS && watcher.isWatched) {
      askedAt = clock.monotonic();
      metrics.lastHour().then(
        (hour) => {
          known = hour;
        },
        (error: unknown) => {
          known = undefined;
          onProblem?.(error);
        },
      );
    }
    return known;
  };
}

/** Where CloudWatch has no answer, what this console saw itself is better than nothing. */
async function readTrend(
  { metrics, clock }: ConsoleOptions,
  watcher: Watcher,
  span: TrendSpan,
): Promise<Trend> {
  const own = watcher.trend.read(span, clock.now());
  if (metrics === undefined) return own;
  return metrics.trend(span).catch((error: unknown) => ({
    ...own,
    problem: error instanceof Error ? error.message : String(error),
  }));
}

const helloOf = (
  { tableName, queue, queueDepth, settings, scan, where, send, work }: ConsoleOptions,
  mode: Hello['mode'],
): Omit<Hello, 'now'> => ({
  tableName,
  mode,
  where,
  work,
  send: send?.(),
  writable: queue !== undefined,
  skewMs: settings.skewMs,
  partial: mode === 'local' ? undefined : whyPartial(scan !== undefined),
  noQueue: queueDepth === undefined ? 'No queue is named. Start the console with --queue-url' : undefined,
});

const whyPartial = (hasScanned: boolean): string =>
  hasScanned
    ? 'Jobs that start and finish between two looks at the index are not seen'
    : 'Done and cancelled jobs are in no index: only those that this console saw finish are listed. Start it with --scan to read the whole table once';
