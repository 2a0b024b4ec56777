import { concernsOneRow } from '../protocol/errors.ts';
import { inParallel } from '../protocol/in-parallel.ts';
import type { Clock, Cursor, JobStore, Table } from '../protocol/ports.ts';
import { allShards } from '../protocol/shards.ts';
import { allFailures } from '../protocol/store/all-failures.ts';
import type { Row } from '../protocol/writes/row-write.ts';
import type { Settings } from '../settings/settings.ts';
import { createHistory, type History } from './history.ts';
import { KnownJobs } from './known-jobs.ts';
import { readShard, type Stretch } from './read-shard.ts';
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

const MAX_RUNNING_READ = 2_000;
/** Pending entries read on every look, and how many more of the rest, a stretch at a time. */
const PENDING_HEAD = 200;
const PENDING_STRETCH = 1_000;
const ROWS_PER_LOOK = 100;
const ROWS_AT_ONCE = 8;
const NOTE_DELAY_MS = 15;
const FAILURES_EVERY_MS = 5_000;
const FAILURES_READ = 50;

/** Knows the table's jobs as well as gentle polling can: the index for what is unfinished, single rows for what left it. */
export class Watcher {
  readonly history: History = createHistory();
  readonly series: Series = createSeries();
  readonly jobs: KnownJobs;
  readonly #options: WatcherOptions;
  readonly #toRead = new Set<string>();
  /** Where the next look at a long pending shard goes on. */
  readonly #walks = new Map<string, NonNullable<Stretch['rest']>>();
  readonly #stopping = new AbortController();
  readonly #looping: Promise<void>;
  #watchers = 0;
  #failuresReadAt = Number.NEGATIVE_INFINITY;
  #noteTimer: NodeJS.Timeout | undefined;
  #wake = () => {};

  /** Starts to look at once. */
  constructor(options: WatcherOptions) {
    this.#options = options;
    this.jobs = new KnownJobs({ clock: options.clock, history: this.history, series: this.series });
    this.#looping = this.#loop();
  }

  /** Something happened to this job: its row is read soon, whatever the poll's rhythm. */
  note(jobId: string): void {
    this.#toRead.add(jobId);
    this.#noteTimer ??= setTimeout(() => {
      this.#noteTimer = undefined;
      void this.#readNoted();
    }, NOTE_DELAY_MS);
  }

  /** Somebody looks at the page (or no longer does), which sets the rhythm. */
  watched(by: 1 | -1): void {
    this.#watchers += by;
    if (by === 1) this.#wake();
  }

  /** Looks at the index now. */
  async poll(): Promise<void> {
    const { clock, settings } = this.#options;
    const { running, pending } = allShards(settings.shards);
    await Promise.all([
      ...running.map((shard) => this.#lookAtRunning(shard)),
      ...pending.map((shard) => this.#lookAtPending(shard)),
    ]);
    await this.#lookAtFailures();
    await this.#readRows();
    const { counts } = this.jobs;
    this.series.read(clock.now(), { live: counts.running, waiting: counts.pending });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#noteTimer);
    this.#wake();
    await this.#looping;
  }

  async #loop(): Promise<void> {
    const { scan } = this.#options;
    const { signal } = this.#stopping;
    if (scan !== undefined) await scanInto(this.jobs, scan, signal).catch(this.#tell);
    while (!signal.aborted) {
      await this.poll().catch(this.#tell);
      await this.#pause();
    }
  }

  /** Waits for the next look, which may be woken early. */
  async #pause(): Promise<void> {
    const { pollMs, idlePollMs } = this.#options;
    const waking = Promise.withResolvers<void>();
    this.#wake = waking.resolve;
    const pause = this.#watchers > 0 || this.jobs.counts.running > 0 ? pollMs : idlePollMs;
    const timer = pause > 0 ? setTimeout(waking.resolve, pause) : undefined;
    if (this.#stopping.signal.aborted) waking.resolve();
    await waking.promise;
    clearTimeout(timer);
  }

  async #lookAtRunning(shard: string): Promise<void> {
    this.#take(await readShard(this.#options.table, shard, MAX_RUNNING_READ));
  }

  async #lookAtPending(shard: string): Promise<void> {
    const { table } = this.#options;
    const head = await readShard(table, shard, PENDING_HEAD);
    this.#take(head);
    if (head.rest === undefined) return;
    const stretch = await readShard(table, shard, PENDING_STRETCH, this.#walks.get(shard) ?? head.rest);
    this.#take(stretch);
    if (stretch.rest === undefined) this.#walks.delete(shard);
    else this.#walks.set(shard, stretch.rest);
  }

  #take({ shard, entries, from, to }: Stretch): void {
    const seen = new Set(entries.map(({ jobId }) => jobId));
    for (const entry of entries) if (this.jobs.takeEntry(entry)) this.#toRead.add(entry.jobId);
    for (const jobId of this.jobs.missing(shard, seen, from, to)) this.#toRead.add(jobId);
  }

  async #lookAtFailures(): Promise<void> {
    const { clock, table, settings } = this.#options;
    if (clock.monotonic() - this.#failuresReadAt < FAILURES_EVERY_MS) return;
    this.#failuresReadAt = clock.monotonic();
    let left = FAILURES_READ;
    for await (const { failure } of allFailures(table, {
      shards: settings.shards,
      pageSize: FAILURES_READ,
    })) {
      if (this.jobs.isNewFailure(failure)) this.#toRead.add(failure.jobId);
      if (--left === 0) return;
    }
  }

  async #readNoted(): Promise<void> {
    await this.#readRows().catch(this.#tell);
    // A job that starts to run wakes the poll, which from now on has heartbeats to see.
    if (this.jobs.counts.running > 0 && this.#watchers === 0) this.#wake();
  }

  async #readRows(): Promise<void> {
    const chosen = [...this.#toRead].slice(0, ROWS_PER_LOOK);
    for (const jobId of chosen) this.#toRead.delete(jobId);
    await inParallel(chosen, ROWS_AT_ONCE, (jobId) => this.#readRow(jobId));
  }

  async #readRow(jobId: string): Promise<void> {
    try {
      const job = await this.#options.store.read(jobId);
      if (job === undefined) this.jobs.remove(jobId);
      else this.jobs.takeRow(job);
    } catch (error) {
      if (!concernsOneRow(error)) throw error;
      this.#tell(error);
    }
  }

  #tell = (error: unknown): void => this.#options.onProblem?.(error);
}
