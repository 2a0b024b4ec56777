import type { Table } from '../../../protocol/ports.ts';
import { allShards } from '../../../protocol/shards.ts';
import type { Count } from '../../inspect/health.ts';
import type { KnownJobs } from './known-jobs.ts';
import { readShard, type Stretch } from './read-shard.ts';

export interface IndexReads {
  readonly running: number;
  /** Of the pending ones: from the start, plus this many of the rest of `stretches` shards. */
  readonly head: number;
  readonly stretch: number;
  readonly stretches: number;
}

interface Looked {
  readonly unclear: readonly string[];
  /** Left the index: their claims have ended. */
  readonly missing: readonly string[];
}

export class IndexReader {
  readonly #table: Table;
  readonly #jobs: KnownJobs;
  readonly #reads: IndexReads;
  readonly #walks = new Map<string, NonNullable<Stretch['rest']>>();
  /** Shards read to their end once; walks find later changes. */
  readonly #walked = new Set<string>();
  readonly #running = new Map<string, Count>();
  readonly #soonest = new Map<string, number>();
  readonly #unreadPending = new Set<string>();
  #turn = 0;

  constructor(table: Table, jobs: KnownJobs, reads: IndexReads) {
    this.#table = table;
    this.#jobs = jobs;
    this.#reads = reads;
  }

  /** As the index had it at the last look, whatever rows are still to be read. */
  get running(): Count {
    const shards = [...this.#running.values()];
    return {
      count: shards.reduce((sum, { count }) => sum + count, 0),
      complete: shards.every(({ complete }) => complete),
    };
  }

  soonest(status: 'running' | 'pending'): number | undefined {
    const ends = [...this.#soonest].filter(([shard]) => shard.startsWith(status === 'running' ? 'r' : 'q'));
    return ends.length === 0 ? undefined : Math.min(...ends.map(([, end]) => end));
  }

  get hasUnreadPending(): boolean {
    return this.#unreadPending.size > 0;
  }

  async look(shards: number): Promise<Looked> {
    const { running, pending } = allShards(shards);
    const { stretches } = this.#reads;
    const turn = this.#turn;
    this.#turn = (turn + stretches) % shards;
    const isNext = (i: number) => (i - turn + shards) % shards < stretches;
    const found = await Promise.all([
      ...running.map((shard) => this.#lookAtRunning(shard)),
      ...pending.map((shard, i) => this.#lookAtPending(shard, isNext(i))),
    ]);
    return {
      unclear: found.flatMap(({ unclear }) => unclear),
      missing: found.flatMap(({ missing }) => missing),
    };
  }

  async #lookAtRunning(shard: string): Promise<Looked> {
    const stretch = await readShard(this.#table, shard, this.#reads.running);
    this.#noteSoonest(stretch);
    this.#running.set(shard, { count: stretch.entries.length, complete: stretch.rest === undefined });
    return this.#take(stretch);
  }

  async #lookAtPending(shard: string, isNext: boolean): Promise<Looked> {
    const head = await readShard(this.#table, shard, this.#reads.head);
    this.#noteSoonest(head);
    const found = this.#take(head);
    if (head.rest === undefined) {
      this.#walks.delete(shard);
      this.#unreadPending.delete(shard);
      return found;
    }
    if (!this.#walked.has(shard)) this.#unreadPending.add(shard);
    if (!isNext) return found;
    const start = this.#walks.get(shard) ?? head.rest;
    const stretch = await readShard(this.#table, shard, this.#reads.stretch, start);
    if (stretch.rest === undefined) {
      this.#walks.delete(shard);
      this.#walked.add(shard);
      this.#unreadPending.delete(shard);
    } else this.#walks.set(shard, stretch.rest);
    const rest = this.#take(stretch);
    return {
      unclear: [...found.unclear, ...rest.unclear],
      missing: [...found.missing, ...rest.missing],
    };
  }

  #noteSoonest({ shard, entries }: Stretch): void {
    const [first] = entries;
    if (first === undefined) this.#soonest.delete(shard);
    else this.#soonest.set(shard, first.leaseUntil);
  }

  #take({ shard, entries, from, to }: Stretch): Looked {
    const seen = new Set(entries.map(({ jobId }) => jobId));
    const unclear = entries.filter((entry) => this.#jobs.takeEntry(entry)).map(({ jobId }) => jobId);
    return { unclear, missing: this.#jobs.missing(shard, seen, from, to) };
  }
}
