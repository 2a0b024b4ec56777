import { concernsOneRow } from '../../../protocol/errors.ts';
import { inParallel } from '../../../protocol/in-parallel.ts';
import type { JobStatus } from '../../../protocol/job.ts';
import type { Clock, Cursor, JobStore, Table } from '../../../protocol/ports.ts';
import type { Row } from '../../../protocol/writes/row-write.ts';
import type { Settings } from '../../../settings/settings.ts';
import type { HealthSigns } from '../../inspect/health.ts';
import { parkedOf } from '../../inspect/parked.ts';
import type { Figures, QueueDepth } from '../page-messages.ts';
import { Failures } from './failures.ts';
import { IndexReader, type IndexReads } from './index-reader.ts';
import { KnownJobs } from './known-jobs.ts';
import { pacedTable, ReadBudget, readUnits } from './read-budget.ts';
import { scanInto } from './scan-into.ts';
import { Surroundings } from './surroundings.ts';
import { createTrend, type TrendMemory } from './trend.ts';

export interface WatcherOptions {
  readonly table: Table;
  readonly store: Pick<JobStore, 'read'>;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly pollMs: number;
  /** Applies otherwise; 0 means never. */
  readonly idlePollMs: number;
  readonly failuresEveryMs: number;
  readonly queueEveryMs: number;
  /** @default - as many as a local table can bear */
  readonly reads?: IndexReads & { readonly rows: number };
  /** Read units a second of all that is read in the background. @default - unlimited */
  readonly readUnits?: number;
  readonly queueDepth?: () => Promise<QueueDepth>;
  readonly poolsOf?: (running: {
    readonly types: readonly string[];
    readonly complete: boolean;
  }) => Promise<HealthSigns['pools']>;
  readonly queueAge?: () => Promise<number | undefined>;
  readonly scan?: (request: {
    readonly cursor?: Cursor;
    readonly limit?: number;
  }) => Promise<{ readonly rows: readonly Row[]; readonly cursor?: Cursor }>;
  /** Whether to scan again and again, because jobs of other processes can start and finish between two looks. */
  readonly rescans?: boolean;
  readonly onProblem?: (error: unknown) => void;
}

const LOCAL_READS = { running: 2_000, head: 200, stretch: 1_000, stretches: 256, rows: 100 };
const ROWS_AT_ONCE = 8;
const NOTE_DELAY_MS = 15;
const SCAN_SHARE = 1 / 20;
const SCAN_EVERY_MS = 2_000;

/** Polls the index for unfinished jobs, and reads single rows of jobs that left it. */
export class Watcher {
  readonly trend: TrendMemory = createTrend();
  readonly jobs: KnownJobs;
  readonly budget: ReadBudget;
  readonly #options: WatcherOptions;
  readonly #reads: IndexReads & { readonly rows: number };
  readonly #toRead = new Set<string>();
  readonly #stopping = new AbortController();
  readonly #looping: Promise<void>;
  readonly #index: IndexReader;
  readonly #failures: Failures;
  readonly #surroundings: Surroundings;
  #scanned: Partial<Record<JobStatus, number>> | undefined;
  #nextScanAt = 0;
  #readAt: number | undefined;
  #problem: string | undefined;
  #watchers = 0;
  #noteTimer: NodeJS.Timeout | undefined;
  #wake: (to: 'look' | 'wait') => void = () => {};

  constructor(options: WatcherOptions) {
    const { clock, readUnits: perSecond = Number.POSITIVE_INFINITY } = options;
    this.#options = options;
    this.#reads = options.reads ?? LOCAL_READS;
    this.budget = new ReadBudget(clock, perSecond, this.#stopping.signal);
    const table = pacedTable(options.table, this.budget);
    this.jobs = new KnownJobs({ clock, trend: this.trend });
    this.#index = new IndexReader(table, this.jobs, this.#reads);
    this.#failures = new Failures({ ...options, table, jobs: this.jobs });
    this.#surroundings = new Surroundings({
      ...options,
      table,
      onProblem: this.#tell,
      running: () => ({ types: this.#typesOf('running'), complete: this.#index.running.complete }),
    });
    this.#looping = this.#loop();
  }

  note(jobId: string): void {
    this.#toRead.add(jobId);
    this.#noteTimer ??= setTimeout(() => {
      this.#noteTimer = undefined;
      void this.#readNoted();
    }, NOTE_DELAY_MS);
  }

  watched(by: 1 | -1): void {
    this.#watchers += by;
    this.#wake(by === 1 ? 'look' : 'wait');
  }

  /** Reads the operators' controls with the next look, which is now. */
  noteControl(): void {
    this.#surroundings.lookSoon();
    this.#wake('look');
  }

  get isWatched(): boolean {
    return this.#watchers > 0;
  }

  async poll(): Promise<void> {
    const { clock, settings } = this.#options;
    const [{ unclear, missing }] = await Promise.all([
      this.#index.look(settings.shards),
      this.#surroundings.look(),
    ]);
    this.#readSoon(unclear);
    await this.#settle(missing);
    this.#surroundings.judge(this.#index.running.count);
    this.trend.look(clock.now(), { running: this.#index.running.count, waiting: this.#waiting() });
    this.#readSoon(await this.#failures.look());
    await this.#readRows();
    this.#readAt = clock.now();
    this.#problem = undefined;
  }

  async readRows(jobIds: readonly string[]): Promise<void> {
    await inParallel(jobIds, ROWS_AT_ONCE, (jobId) => this.#readRow(jobId));
  }

  figures(): Omit<Figures, 'health' | 'strip' | 'parked'> {
    const { counts } = this.jobs;
    const finished = (status: 'done' | 'cancelled') => ({
      count: Math.max(counts[status], this.#scanned?.[status] ?? 0),
      complete: this.#scanned !== undefined && this.#options.rescans === true,
    });
    return {
      now: this.#options.clock.now(),
      readAt: this.#readAt,
      problem: this.#problem,
      counts: {
        running: this.#index.running,
        pending: { count: counts.pending, complete: !this.#index.hasUnreadPending },
        done: finished('done'),
        failed: this.#failures.figure(),
        cancelled: finished('cancelled'),
      },
      failedByType: this.#failures.byType(),
      queue: this.#surroundings.queue,
      readUnits: this.budget.isFree ? undefined : Math.round(this.budget.spent),
    };
  }

  #typesOf(status: JobStatus): string[] {
    return [...this.jobs.all()].flatMap((job) => (job.status === status ? [job.type] : []));
  }

  #parked() {
    const waits = [...this.jobs.all()].flatMap(({ status, waitsFor }) =>
      status === 'pending' && waitsFor !== undefined ? [waitsFor] : [],
    );
    return parkedOf(waits, !this.#index.hasUnreadPending, this.#surroundings.control);
  }

  signs(): HealthSigns {
    const { running, pending, failed } = this.figures().counts;
    const byType = Object.entries(this.#failures.byType());
    return {
      at: this.#options.clock.now(),
      running,
      pending,
      failed: Object.fromEntries(byType.map(([type, count]) => [type, { count, complete: failed.complete }])),
      soonestLeaseEnd: this.#index.soonest('running'),
      soonestHint: this.#index.soonest('pending'),
      ...this.#surroundings.signs(),
      parked: this.#parked(),
    };
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#noteTimer);
    this.#wake('look');
    await this.#looping;
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#scan().catch(this.#tell);
      await this.poll().catch((error: unknown) => {
        if (signal.aborted) return;
        this.#problem = error instanceof Error ? error.message : String(error);
        this.#tell(error);
      });
      await this.#pause();
    }
  }

  async #scan(): Promise<void> {
    const { scan, rescans, clock } = this.#options;
    const startedAt = clock.monotonic();
    const isAgain = this.#nextScanAt > 0;
    if (scan === undefined || startedAt < this.#nextScanAt || (isAgain && rescans !== true)) return;
    this.#nextScanAt = startedAt + SCAN_EVERY_MS;
    this.#scanned = (await scanInto(this.jobs, scan, this.#stopping.signal)) ?? this.#scanned;
    const tookMs = clock.monotonic() - startedAt;
    this.#nextScanAt = clock.monotonic() + Math.max(SCAN_EVERY_MS, tookMs / SCAN_SHARE);
  }

  async #pause(): Promise<void> {
    const { pollMs, idlePollMs } = this.#options;
    for (;;) {
      if (this.#stopping.signal.aborted) return;
      const waking = Promise.withResolvers<'look' | 'wait'>();
      this.#wake = waking.resolve;
      const pause = this.isWatched || this.#index.running.count > 0 ? pollMs : idlePollMs;
      const timer = pause > 0 ? setTimeout(waking.resolve, pause, 'look') : undefined;
      const next = await waking.promise;
      clearTimeout(timer);
      if (next === 'look') return;
    }
  }

  #waiting(): number {
    const { queue } = this.#surroundings;
    return queue === undefined ? this.jobs.counts.pending : queue.visible + queue.delayed;
  }

  /** Jobs that left the index run no more. Those whose rows cannot be read in time are no longer listed. */
  async #settle(missing: readonly string[]): Promise<void> {
    const { rows } = this.#reads;
    this.#readSoon(missing.slice(0, rows));
    for (const jobId of missing.slice(rows)) this.jobs.remove(jobId);
    await this.#readRows();
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
    // Noted last, wanted first: those left the index or were acted on just now.
    const chosen = [...this.#toRead].slice(-this.#reads.rows);
    for (const jobId of chosen) this.#toRead.delete(jobId);
    await this.readRows(chosen);
  }

  async #readRow(jobId: string): Promise<void> {
    try {
      const job = await this.budget.run(
        () => this.#options.store.read(jobId),
        (row) => readUnits(row, 1),
      );
      if (job === undefined) this.jobs.remove(jobId);
      else this.jobs.takeRow(job);
    } catch (error) {
      if (!concernsOneRow(error)) throw error;
      this.#tell(error);
    }
  }

  #tell = (error: unknown): void => {
    if (!this.#stopping.signal.aborted) this.#options.onProblem?.(error);
  };
}
