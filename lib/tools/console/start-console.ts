import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import type { Clock, Events, JobQueue, JobStore, Table } from '../../protocol/ports.ts';
import type { Settings } from '../../settings/settings.ts';
import { createConsoleApp } from './console-app.ts';
import { Feed } from './feed.ts';
import { loadPageFiles } from './page-files.ts';
import { type Hello, TOKEN_PARAMETER, type WorkerAction, type WorkerSummary } from './page-messages.ts';
import { Watcher, type WatcherOptions } from './watcher.ts';
import { workerSummaries } from './worker-summaries.ts';

export interface ConsoleOptions {
  readonly tableName: string;
  readonly table: Table;
  readonly store: JobStore;
  readonly settings: Settings;
  readonly clock: Clock;
  /** Without a queue the page is read-only. */
  readonly queue?: Pick<JobQueue, 'sendHints'>;
  /** Receives the event of a job cancelled before it ran. */
  readonly events?: Events;
  readonly port?: number;
  /** Reads the whole table once, which costs by its size. @default - only jobs seen to finish are known */
  readonly scan?: WatcherOptions['scan'];
  readonly local?: LocalWorkers;
  readonly queueDepth?: WatcherOptions['queueDepth'];
  /** Explains an id without a row. */
  readonly tellUnknown?: (jobId: string) => Promise<string>;
  readonly onProblem?: (error: unknown) => void;
  /** @default - frequent on this machine, rare in an account */
  readonly rhythm?: Rhythm;
}

/** The processes of a local stack, and news of what happens in them. */
export interface LocalWorkers {
  /** Whether all jobs run in these workers, so that nothing goes unseen. */
  readonly tellsAll: boolean;
  workers(): readonly WorkerSummary[];
  signal(pid: number, action: WorkerAction): boolean;
  /** Returns false if no worker has a cell with this process id. */
  killCell(pid: number): Promise<boolean>;
  /** For each job why the jobs module would not run it; null if it would. Absent without a jobs module. */
  readonly check?: (
    jobs: readonly { readonly type: string; readonly payload: string }[],
  ) => Promise<readonly (string | null)[]>;
  /** Called once; returns a function that disconnects. */
  connect(watcher: Watcher, workersChanged: () => void): () => void;
}

type Rhythm = Pick<WatcherOptions, 'pollMs' | 'idlePollMs' | 'queueEveryMs' | 'failuresEveryMs'>;

/** In an account each look costs one query per shard. */
const RHYTHMS: Readonly<Record<Hello['mode'], Rhythm>> = {
  local: { pollMs: 400, idlePollMs: 5_000, queueEveryMs: 400, failuresEveryMs: 1_000 },
  account: { pollMs: 2_000, idlePollMs: 0, queueEveryMs: 10_000, failuresEveryMs: 5_000 },
};

/** Serves the page on 127.0.0.1. */
export async function startConsole(options: ConsoleOptions) {
  const { table, store, settings, clock, queue, events, local, scan, queueDepth, onProblem } = options;
  const files = await loadPageFiles();
  const token = randomBytes(18).toString('base64url');
  const stopping = new AbortController();
  const mode: Hello['mode'] = local === undefined ? 'account' : 'local';
  const watcher = new Watcher({
    ...{ table, store, settings, clock, scan, queueDepth, onProblem },
    isToldAll: () => local?.tellsAll === true,
    ...(options.rhythm ?? RHYTHMS[mode]),
  });
  const feed = new Feed({
    watcher,
    clock,
    hello: () => helloOf(options, mode),
    workers: () => local?.workers() ?? workerSummaries([...watcher.jobs.all()], clock.now(), settings),
  });
  const disconnect = local?.connect(watcher, () => feed.workersChanged());
  let port = 0;
  const app = createConsoleApp({
    ...{ token, files, feed, watcher, store, clock, settings },
    port: () => port,
    actions: queue === undefined ? undefined : { store, queue: () => queue, clock, settings, events },
    local,
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

const helloOf = (
  { tableName, queue, queueDepth, settings, scan, local }: ConsoleOptions,
  mode: Hello['mode'],
): Omit<Hello, 'now'> => ({
  tableName,
  mode,
  writable: queue !== undefined,
  skewMs: settings.skewMs,
  graceMs: settings.graceMs,
  partial: whyPartial(scan !== undefined, local?.tellsAll === true),
  noQueue: queueDepth === undefined ? 'No queue is named. Start the console with --queue-url' : undefined,
});

function whyPartial(hasScanned: boolean, tellsAll: boolean): string | undefined {
  if (!hasScanned)
    return 'Done and cancelled jobs are in no index: only those that this console saw finish are listed. Start it with --scan to read the whole table once';
  return tellsAll ? undefined : 'Jobs that start and finish between two looks at the index are not seen';
}
