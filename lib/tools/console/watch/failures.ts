import type { Clock, Cursor, Table } from '../../../protocol/ports.ts';
import { allShards } from '../../../protocol/shards.ts';
import { allFailures, type FailureEntry, failureEntry } from '../../../protocol/store/all-failures.ts';
import type { Settings } from '../../../settings/settings.ts';
import type { Count } from '../../inspect/health.ts';
import type { KnownJobs } from './known-jobs.ts';

export interface FailuresOptions {
  readonly table: Pick<Table, 'query'>;
  readonly settings: Pick<Settings, 'shards'>;
  readonly clock: Clock;
  readonly jobs: KnownJobs;
  readonly failuresEveryMs: number;
}

/** The rows of the newest ones are read for their errors, others when a page shows them. */
const NEWEST = 200;
const WALK_PAGE = 250;
const PAGES_PER_LOOK = 2;
/** Revived and expired failures are noticed by the next walk. */
const WALK_EVERY_MS = 300_000;
/** Re-reads this much of the index, because entries may be late and clocks differ. */
const OVERLAP_MS = 60_000;

interface Walk {
  readonly startedAt: number;
  readonly seen: Set<string>;
  /** Shards that are not read to their end, with the place to continue. */
  readonly rest: { readonly partition: string; readonly cursor?: Cursor }[];
}

/** Every failed job by type, from the index alone, which is walked from end to end. */
export class Failures {
  readonly #options: FailuresOptions;
  readonly #known = new Map<string, { readonly type: string; readonly notedAt: number }>();
  #lookedAt = Number.NEGATIVE_INFINITY;
  #newestAt: number | undefined;
  #walk: Walk | undefined;
  #walkedAt = Number.NEGATIVE_INFINITY;
  #isWhole = false;

  constructor(options: FailuresOptions) {
    this.#options = options;
    options.jobs.listen((change) => {
      if ('gone' in change) return;
      if (change.status === 'failed') this.#note(change.jobId, change.type);
      else this.#known.delete(change.jobId);
    });
  }

  figure(): Count {
    return { count: this.#known.size, complete: this.#isWhole };
  }

  byType(): Readonly<Record<string, number>> {
    const counts = new Map<string, number>();
    for (const { type } of this.#known.values()) counts.set(type, (counts.get(type) ?? 0) + 1);
    return Object.fromEntries(counts);
  }

  async look(): Promise<string[]> {
    const { clock, failuresEveryMs } = this.#options;
    const unclear: string[] = [];
    if (clock.monotonic() - this.#lookedAt >= failuresEveryMs) {
      this.#lookedAt = clock.monotonic();
      unclear.push(...(await this.#readNewest()));
    }
    if (this.#walk === undefined && clock.monotonic() - this.#walkedAt >= WALK_EVERY_MS)
      this.#walk = this.#begin();
    for (let page = 0; page < PAGES_PER_LOOK && this.#walk !== undefined; page++)
      unclear.push(...(await this.#step(this.#walk)));
    return unclear;
  }

  async #readNewest(): Promise<string[]> {
    const { table, settings, jobs } = this.#options;
    const since = this.#newestAt === undefined ? undefined : this.#newestAt - OVERLAP_MS;
    const pageSize = Math.ceil(NEWEST / settings.shards);
    const jobIds: string[] = [];
    let read = 0;
    for await (const { failure } of allFailures(table, { shards: settings.shards, pageSize, since })) {
      // A walk finds the rest of a burst.
      if (read++ === NEWEST) {
        if (since !== undefined) this.#walkedAt = Number.NEGATIVE_INFINITY;
        break;
      }
      this.#newestAt = Math.max(this.#newestAt ?? 0, failure.failedAt);
      const isNew = jobs.isNewFailure(failure);
      this.#take(failure);
      if (isNew) jobIds.push(failure.jobId);
    }
    return jobIds;
  }

  #begin(): Walk {
    const { settings, clock } = this.#options;
    return {
      startedAt: clock.monotonic(),
      seen: new Set(),
      rest: allShards(settings.shards).failed.map((partition) => ({ partition })),
    };
  }

  async #step(walk: Walk): Promise<string[]> {
    const place = walk.rest.shift();
    if (place === undefined) return [];
    const { rows, cursor } = await this.#options.table.query({
      partition: place.partition,
      cursor: place.cursor,
      limit: WALK_PAGE,
      newestFirst: true,
    });
    const failures = rows.map(failureEntry);
    for (const { jobId } of failures) walk.seen.add(jobId);
    // In turns, so that the newest of all shards are listed first.
    if (cursor !== undefined) walk.rest.push({ partition: place.partition, cursor });
    if (walk.rest.length === 0) this.#end(walk);
    return failures.filter((failure) => this.#take(failure)).map(({ jobId }) => jobId);
  }

  #end(walk: Walk): void {
    const { clock, jobs } = this.#options;
    this.#walk = undefined;
    this.#walkedAt = clock.monotonic();
    this.#isWhole = true;
    for (const [jobId, { notedAt }] of [...this.#known])
      if (!walk.seen.has(jobId) && notedAt < walk.startedAt) {
        this.#known.delete(jobId);
        if (jobs.get(jobId)?.status === 'failed') jobs.remove(jobId);
      }
  }

  #take(failure: FailureEntry): boolean {
    const isUnclear = this.#options.jobs.takeFailure(failure);
    if (!isUnclear) this.#note(failure.jobId, failure.type);
    return isUnclear;
  }

  #note(jobId: string, type: string): void {
    if (!this.#known.has(jobId)) this.#known.set(jobId, { type, notedAt: this.#options.clock.monotonic() });
  }
}
