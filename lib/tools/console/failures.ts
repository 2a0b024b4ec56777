import type { Clock, Table } from '../../protocol/ports.ts';
import { allShards } from '../../protocol/shards.ts';
import { allFailures } from '../../protocol/store/all-failures.ts';
import type { Place } from '../../protocol/store/merged-shards.ts';
import type { Settings } from '../../settings/settings.ts';
import type { KnownJobs } from './known-jobs.ts';
import type { Figure } from './page-messages.ts';

export interface FailuresOptions {
  readonly table: Pick<Table, 'query' | 'count'>;
  readonly settings: Pick<Settings, 'shards'>;
  readonly clock: Clock;
  readonly jobs: KnownJobs;
  readonly failuresEveryMs: number;
  /** Whether the whole table was read, so that counting is unnecessary. */
  readonly isAllKnown: () => boolean;
}

/** Per request for more, too. */
const READ_AT_ONCE = 200;
/** Interval of counts after a change, and without one. */
const RECOUNT_MS = 10_000;
const COUNT_EVERY_MS = 60_000;
/** Counting a shard stops here, and the figure becomes "or more". */
const COUNTED_PER_SHARD = 10_000;
/** Re-reads this much of the index, because entries may be late and clocks differ. */
const OVERLAP_MS = 60_000;

/** The failed jobs of all types, newest first. */
export class Failures {
  readonly #options: FailuresOptions;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #countedAt = Number.NEGATIVE_INFINITY;
  #newestAt: number | undefined;
  /** Where unread older failures begin; undefined if there are none. */
  #rest: Place | undefined;
  #counted: Figure = { count: 0, complete: false };
  #knownWhenCounted = 0;

  constructor(options: FailuresOptions) {
    this.#options = options;
  }

  get hasMore(): boolean {
    return this.#rest !== undefined;
  }

  /** As of the last count of the index. */
  figure(): Figure {
    const { jobs, isAllKnown } = this.#options;
    const { failed } = jobs.counts;
    if (isAllKnown()) return { count: failed, complete: true };
    return { count: Math.max(failed, this.#counted.count), complete: this.#counted.complete };
  }

  /** Returns the ids whose rows must be read. */
  async look(): Promise<string[]> {
    const { clock, failuresEveryMs } = this.#options;
    if (clock.monotonic() - this.#lookedAt < failuresEveryMs) return [];
    this.#lookedAt = clock.monotonic();
    const isFirst = this.#newestAt === undefined;
    const found = await this.#read({
      since: this.#newestAt === undefined ? undefined : this.#newestAt - OVERLAP_MS,
    });
    // More arrived than one look reads, so a gap up to the known ones is still unread.
    if (isFirst || found.hasGap) this.#rest = found.rest;
    if (this.#isCountDue()) await this.#count();
    return found.jobIds;
  }

  async more(): Promise<string[]> {
    if (this.#rest === undefined) return [];
    const { jobIds, rest } = await this.#read({ from: this.#rest });
    this.#rest = rest;
    return jobIds;
  }

  async #read(from: { readonly since?: number; readonly from?: Place }) {
    const { table, settings, jobs } = this.#options;
    const jobIds: string[] = [];
    let read = 0;
    let rest: Place | undefined;
    let hasGap = false;
    const entries = allFailures(table, { shards: settings.shards, pageSize: READ_AT_ONCE, ...from });
    for await (const { failure, place } of entries) {
      // Reading one more than needed shows whether there is more.
      if (read === READ_AT_ONCE) return { jobIds, rest, hasGap };
      read += 1;
      rest = place;
      this.#newestAt = Math.max(this.#newestAt ?? 0, failure.failedAt);
      hasGap = jobs.isNewFailure(failure);
      if (hasGap) jobIds.push(failure.jobId);
    }
    return { jobIds, rest: undefined, hasGap: false };
  }

  #isCountDue(): boolean {
    const { clock, jobs, isAllKnown } = this.#options;
    const everyMs = jobs.counts.failed === this.#knownWhenCounted ? COUNT_EVERY_MS : RECOUNT_MS;
    return !isAllKnown() && clock.monotonic() - this.#countedAt >= everyMs;
  }

  async #count(): Promise<void> {
    const { table, settings, clock, jobs } = this.#options;
    this.#countedAt = clock.monotonic();
    this.#knownWhenCounted = jobs.counts.failed;
    const shards = await Promise.all(
      allShards(settings.shards).failed.map((partition) =>
        table.count({ partition, atMost: COUNTED_PER_SHARD }),
      ),
    );
    this.#counted = {
      count: shards.reduce((sum, { count }) => sum + count, 0),
      complete: shards.every(({ cursor }) => cursor === undefined),
    };
  }
}
