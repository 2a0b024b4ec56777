import { BadRowError } from '../protocol/errors.ts';
import type { Job, LeaseEntry } from '../protocol/job.ts';
import type { Clock, Cursor, JobStore, Table } from '../protocol/ports.ts';
import { allShards } from '../protocol/shards.ts';
import type { Row } from '../protocol/writes/row-write.ts';
import type { Settings } from '../settings/settings.ts';
import { BAD_MESSAGE_TYPE } from '../wire/table.ts';
import { createHistory, type History } from './history.ts';
import { createJobBook, type JobBook } from './known-jobs.ts';
import { readShard } from './lease-reading.ts';
import { scanInto } from './scan-into.ts';
import { createSeries, type Series } from './series.ts';

export interface WatcherOptions {
  readonly table: Table;
  readonly store: Pick<JobStore, 'read'>;
  readonly settings: Settings;
  readonly clock: Clock;
  /** Time between two looks at the index while anybody watches or anything runs. */
  readonly pollMs: number;
  /** Time between two looks while nobody watches and nothing runs; 0 means none. */
  readonly idlePollMs: number;
  /** Reads the whole table once, to know what finished before. Only where that costs nothing, or was asked for. */
  readonly scan?: (request: {
    readonly cursor?: Cursor;
    readonly limit?: number;
  }) => Promise<{ readonly rows: readonly Row[]; readonly cursor?: Cursor }>;
  readonly onProblem?: (error: unknown) => void;
}

/** Knows the table's jobs as well as gentle polling can: the index for what is unfinished, single rows for what left it. */
export interface Watcher {
  readonly book: JobBook;
  readonly history: History;
  readonly series: Series;
  /** Something happened to this job: its row is read soon, whatever the poll's rhythm. */
  note(jobId: string): void;
  /** Somebody looks at the page (or no longer does), which sets the rhythm. */
  watched(by: 1 | -1): void;
  /** Looks at the index now. */
  poll(): Promise<void>;
  stop(): Promise<void>;
}

const MAX_RUNNING_READ = 2_000;
/** Pending entries read on every look, and how many more of the rest, a stretch at a time. */
const PENDING_HEAD = 200;
const PENDING_STRETCH = 1_000;
const ROWS_PER_LOOK = 100;
const ROWS_AT_ONCE = 8;
const NOTE_DELAY_MS = 15;
const FAILURES_EVERY_MS = 5_000;
const FAILURES_READ = 50;

export function createWatcher(options: WatcherOptions): Watcher {
  const { table, store, settings, clock, pollMs, idlePollMs } = options;
  const onProblem = options.onProblem ?? (() => {});
  const history = createHistory();
  const series = createSeries();
  const book = createJobBook({ clock, history, series });
  const toRead = new Set<string>();
  const walks = new Map<string, { readonly cursor: Cursor; readonly from: number }>();
  const stopping = new AbortController();
  let watchers = 0;
  let failuresReadAt = Number.NEGATIVE_INFINITY;
  let noteTimer: NodeJS.Timeout | undefined;
  let wake = () => {};

  const readRow = async (jobId: string): Promise<void> => {
    try {
      const job: Job | undefined = await store.read(jobId);
      if (job === undefined) book.remove(jobId);
      else book.job(job);
    } catch (error) {
      if (!(error instanceof BadRowError)) throw error;
      onProblem(error);
    }
  };
  const readRows = async (): Promise<void> => {
    const chosen = [...toRead].slice(0, ROWS_PER_LOOK);
    for (const jobId of chosen) toRead.delete(jobId);
    for (let i = 0; i < chosen.length; i += ROWS_AT_ONCE)
      await Promise.all(chosen.slice(i, i + ROWS_AT_ONCE).map(readRow));
  };

  const take = (shard: string, entries: readonly LeaseEntry[], from: number, to: number) => {
    const seen = new Set(entries.map(({ jobId }) => jobId));
    for (const entry of entries) if (book.entry(entry)) toRead.add(entry.jobId);
    for (const jobId of book.missing(shard, seen, from, to)) toRead.add(jobId);
  };
  const lookAtRunning = async (shard: string) => {
    const { entries, from, to } = await readShard(table, shard, MAX_RUNNING_READ);
    take(shard, entries, from, to);
  };
  const lookAtPending = async (shard: string) => {
    const head = await readShard(table, shard, PENDING_HEAD);
    take(shard, head.entries, head.from, head.to);
    if (head.rest === undefined) return;
    const stretch = await readShard(table, shard, PENDING_STRETCH, walks.get(shard) ?? head.rest);
    take(shard, stretch.entries, stretch.from, stretch.to);
    if (stretch.rest === undefined) walks.delete(shard);
    else walks.set(shard, stretch.rest);
  };
  const lookAtFailures = async () => {
    if (clock.monotonic() - failuresReadAt < FAILURES_EVERY_MS) return;
    failuresReadAt = clock.monotonic();
    for (const type of [...book.types(), BAD_MESSAGE_TYPE]) {
      const page = await table.query({
        index: 'byFailure',
        partition: type,
        limit: FAILURES_READ,
        newestFirst: true,
      });
      for (const row of page.rows) book.failure(row);
    }
  };

  const poll = async (): Promise<void> => {
    const { running, pending } = allShards(settings.shards);
    await Promise.all([...running.map(lookAtRunning), ...pending.map(lookAtPending)]);
    await lookAtFailures();
    await readRows();
    series.read(clock.now(), { live: book.counts().running, waiting: book.counts().pending });
  };

  const rhythm = () => (watchers > 0 || book.counts().running > 0 ? pollMs : idlePollMs);
  const loop = async (): Promise<void> => {
    if (options.scan !== undefined) await scanInto(book, options.scan, stopping.signal).catch(onProblem);
    while (!stopping.signal.aborted) {
      await poll().catch(onProblem);
      const waking = Promise.withResolvers<void>();
      wake = waking.resolve;
      const pause = rhythm();
      const timer = pause > 0 ? setTimeout(waking.resolve, pause) : undefined;
      await waking.promise;
      clearTimeout(timer);
    }
  };
  const looping = loop();

  return {
    book,
    history,
    series,
    poll,
    note(jobId) {
      toRead.add(jobId);
      noteTimer ??= setTimeout(() => {
        noteTimer = undefined;
        void readRows()
          .catch(onProblem)
          // A job that starts to run wakes the poll, which from now on has heartbeats to see.
          .then(() => book.counts().running > 0 && watchers === 0 && wake());
      }, NOTE_DELAY_MS);
    },
    watched(by) {
      watchers += by;
      if (by === 1) wake();
    },
    async stop() {
      stopping.abort();
      clearTimeout(noteTimer);
      wake();
      await looping;
    },
  };
}
