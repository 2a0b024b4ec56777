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
  /** Time between two looks. */
  readonly failuresEveryMs: number;
  /** Whether the whole table was read, so that nothing has to be counted. */
  readonly isAllKnown: () => boolean;
}

/** Newest failures read at first, and with each request for more. */
const READ_AT_ONCE = 200;
/** Counted again this soon after a change, and this late without one. */
const RECOUNT_MS = 10_000;
const COUNT_EVERY_MS = 60_000;
/** After this many entries a shard is not counted further: the figure is "or more". */
const COUNTED_PER_SHARD = 10_000;
/** The index is read this far back again: entries may come late, and clocks differ. */
const OVERLAP_MS = 60_000;

/** The failed jobs of all types, which the index has in shards of their own, newest first. */
export class Failures {
  readonly #options: FailuresOptions;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #countedAt = Number.NEGATIVE_INFINITY;
  #newestAt: number | undefined;
  /** Where the older ones begin that were not read yet; undefined when there are none. */
  #rest: Place | undefined;
  #counted: Figure = { count: 0, complete: false };
  #knownWhenCounted = 0;

  constructor(options: FailuresOptions) {
    this.#options = options;
  }

  get hasMore(): boolean {
    return this.#rest !== undefined;
  }

  /** How many there are, as the index was last counted. */
  figure(): Figure {
    const { jobs, isAllKnown } = this.#options;
    const { failed } = jobs.counts;
    if (isAllKnown()) return { count: failed, complete: true };
    return { count: Math.max(failed, this.#counted.count), complete: this.#counted.complete };
  }

  /** Looks for new ones when it is time: the ids whose rows have yet to be read. */
  async look(): Promise<string[]> {
    const { clock, failuresEveryMs } = this.#options;
    if (clock.monotonic() - this.#lookedAt < failuresEveryMs) return [];
    this.#lookedAt = clock.monotonic();
    const isFirst = this.#newestAt === undefined;
    const found = await this.#read({
      since: this.#newestAt === undefined ? undefined : this.#newestAt - OVERLAP_MS,
    });
    // More came than one look reads: what lies between them and those that are known has yet to be read.
    if (isFirst || found.hasGap) this.#rest = found.rest;
    if (this.#isCountDue()) await this.#count();
    return found.jobIds;
  }

  /** Reads the next older ones. */
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
      // One more than wanted shows that there is more.
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
      complete: shards.every(({ complete }) => complete),
    };
  }
}
