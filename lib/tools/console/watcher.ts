import { concernsOneRow } from '../../protocol/errors.ts';
import { inParallel } from '../../protocol/in-parallel.ts';
import type { Clock, Cursor, JobStore, Table } from '../../protocol/ports.ts';
import type { Row } from '../../protocol/writes/row-write.ts';
import type { Settings } from '../../settings/settings.ts';
import { Failures } from './failures.ts';
import { createHistory, type History } from './history.ts';
import { IndexReader } from './index-reader.ts';
import { KnownJobs } from './known-jobs.ts';
import type { Figures, QueueDepth } from './page-messages.ts';
import { scanInto } from './scan-into.ts';
import { createSeries, type Series } from './series.ts';

export interface WatcherOptions {
  readonly table: Table;
  readonly store: Pick<JobStore, 'read'>;
  readonly settings: Settings;
  readonly clock: Clock;
  /** Applies while a page is open or a job runs. */
  readonly pollMs: number;
  /** Applies otherwise; 0 means never. */
  readonly idlePollMs: number;
  /** Whether `note` covers every job; otherwise short jobs can finish unseen. */
  readonly isToldAll?: () => boolean;
  /** Absent without a known queue. */
  readonly queueDepth?: () => Promise<QueueDepth>;
  readonly queueEveryMs: number;
  readonly failuresEveryMs: number;
  /** Reads the whole table once; set only where that is free or was requested. */
  readonly scan?: (request: {
    readonly cursor?: Cursor;
    readonly limit?: number;
  }) => Promise<{ readonly rows: readonly Row[]; readonly cursor?: Cursor }>;
  readonly onProblem?: (error: unknown) => void;
}

const ROWS_PER_LOOK = 100;
const ROWS_AT_ONCE = 8;
const NOTE_DELAY_MS = 15;

/** Polls the index for unfinished jobs, and reads single rows of jobs that left it. */
export class Watcher {
  readonly history: History = createHistory();
  readonly series: Series = createSeries();
  readonly jobs: KnownJobs;
  readonly #options: WatcherOptions;
  readonly #toRead = new Set<string>();
  readonly #stopping = new AbortController();
  readonly #looping: Promise<void>;
  readonly #index: IndexReader;
  readonly #failures: Failures;
  #hasScanned = false;
  #queue: QueueDepth | undefined;
  #queueReadAt = Number.NEGATIVE_INFINITY;
  #readAt: number | undefined;
  #problem: string | undefined;
  #watchers = 0;
  #noteTimer: NodeJS.Timeout | undefined;
  /** Ends the current pause, or measures it anew. */
  #wake: (to: 'look' | 'wait') => void = () => {};

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.jobs = new KnownJobs({ clock: options.clock, history: this.history, series: this.series });
    this.#index = new IndexReader(options.table, this.jobs);
    this.#failures = new Failures({ ...options, jobs: this.jobs, isAllKnown: () => this.#isAllKnown() });
    this.#looping = this.#loop();
  }

  /** Reads this job's row soon, whatever the polling interval. */
  note(jobId: string): void {
    this.#toRead.add(jobId);
    this.#noteTimer ??= setTimeout(() => {
      this.#noteTimer = undefined;
      void this.#readNoted();
    }, NOTE_DELAY_MS);
  }

  /** Open pages set the polling interval. */
  watched(by: 1 | -1): void {
    this.#watchers += by;
    this.#wake(by === 1 ? 'look' : 'wait');
  }

  get isWatched(): boolean {
    return this.#watchers > 0;
  }

  async poll(): Promise<void> {
    const { clock, settings } = this.#options;
    const [unclear] = await Promise.all([this.#index.look(settings.shards), this.#lookAtQueue()]);
    this.#readSoon(unclear);
    this.#readSoon(await this.#failures.look());
    await this.#readRows();
    const { counts } = this.jobs;
    this.series.read(clock.now(), { live: counts.running, waiting: this.#waiting() });
    this.#readAt = clock.now();
    this.#problem = undefined;
  }

  async moreFailures(): Promise<void> {
    this.#readSoon(await this.#failures.more());
    await this.#readRows();
  }

  figures(): Figures {
    const { counts } = this.jobs;
    const isAllKnown = this.#isAllKnown();
    return {
      now: this.#options.clock.now(),
      readAt: this.#readAt,
      problem: this.#problem,
      counts: {
        running: { count: counts.running, complete: !this.#index.hasUnread('running') },
        pending: { count: counts.pending, complete: !this.#index.hasUnread('pending') },
        done: { count: counts.done, complete: isAllKnown },
        failed: this.#failures.figure(),
        cancelled: { count: counts.cancelled, complete: isAllKnown },
      },
      queue: this.#queue,
      moreFailures: this.#failures.hasMore,
    };
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#noteTimer);
    this.#wake('look');
    await this.#looping;
  }

  async #loop(): Promise<void> {
    const { scan } = this.#options;
    const { signal } = this.#stopping;
    if (scan !== undefined)
      await scanInto(this.jobs, scan, signal).then((isWhole) => {
        this.#hasScanned = isWhole;
      }, this.#tell);
    while (!signal.aborted) {
      await this.poll().catch((error: unknown) => {
        this.#problem = error instanceof Error ? error.message : String(error);
        this.#tell(error);
      });
      await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    const { pollMs, idlePollMs } = this.#options;
    for (;;) {
      if (this.#stopping.signal.aborted) return;
      const waking = Promise.withResolvers<'look' | 'wait'>();
      this.#wake = waking.resolve;
      const pause = this.isWatched || this.jobs.counts.running > 0 ? pollMs : idlePollMs;
      const timer = pause > 0 ? setTimeout(waking.resolve, pause, 'look') : undefined;
      const next = await waking.promise;
      clearTimeout(timer);
      if (next === 'look') return;
    }
  }

  async #lookAtQueue(): Promise<void> {
    const { clock, queueDepth, queueEveryMs } = this.#options;
    if (queueDepth === undefined || clock.monotonic() - this.#queueReadAt < queueEveryMs) return;
    this.#queueReadAt = clock.monotonic();
    // Unknown is better than old, and does not cast doubt on the table's data.
    this.#queue = await queueDepth().catch((error: unknown) => {
      this.#tell(error);
      return undefined;
    });
  }

  /** Messages in the queue, or pending rows if the queue is unknown. */
  #waiting(): number {
    return this.#queue === undefined ? this.jobs.counts.pending : this.#queue.visible + this.#queue.delayed;
  }

  #isAllKnown(): boolean {
    return this.#hasScanned && !this.jobs.hasForgotten && this.#options.isToldAll?.() === true;
  }

  #readSoon(jobIds: readonly string[]): void {
    for (const jobId of jobIds) this.#toRead.add(jobId);
  }

  async #readNoted(): Promise<void> {
    await this.#readRows().catch(this.#tell);
    // A running job wakes the poll, which now has heartbeats to see.
    if (this.jobs.counts.running > 0 && !this.isWatched) this.#wake('look');
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
