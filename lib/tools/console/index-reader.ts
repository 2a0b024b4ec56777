import type { Table } from '../../protocol/ports.ts';
import { allShards } from '../../protocol/shards.ts';
import type { KnownJobs } from './known-jobs.ts';
import { readShard, type Stretch } from './read-shard.ts';

const MAX_RUNNING_READ = 2_000;
/** Pending entries read on every look, plus this many of the rest. */
const PENDING_HEAD = 200;
const PENDING_STRETCH = 1_000;

/** Reads all running entries, the head of the pending ones and a stretch of the rest. */
export class IndexReader {
  readonly #table: Table;
  readonly #jobs: KnownJobs;
  /** Where the next look at a long pending shard continues. */
  readonly #walks = new Map<string, NonNullable<Stretch['rest']>>();
  /** Shards read to their end once; walks find later changes. */
  readonly #walked = new Set<string>();
  readonly #unread = { running: new Set<string>(), pending: new Set<string>() };

  constructor(table: Table, jobs: KnownJobs) {
    this.#table = table;
    this.#jobs = jobs;
  }

  hasUnread(status: 'running' | 'pending'): boolean {
    return this.#unread[status].size > 0;
  }

  /** Returns the ids whose rows must be read. */
  async look(shards: number): Promise<string[]> {
    const { running, pending } = allShards(shards);
    const found = await Promise.all([
      ...running.map((shard) => this.#lookAtRunning(shard)),
      ...pending.map((shard) => this.#lookAtPending(shard)),
    ]);
    return found.flat();
  }

  async #lookAtRunning(shard: string): Promise<string[]> {
    const stretch = await readShard(this.#table, shard, MAX_RUNNING_READ);
    this.#mark('running', shard, stretch.rest !== undefined);
    return this.#take(stretch);
  }

  async #lookAtPending(shard: string): Promise<string[]> {
    const head = await readShard(this.#table, shard, PENDING_HEAD);
    const found = this.#take(head);
    if (head.rest === undefined) {
      this.#walks.delete(shard);
      this.#mark('pending', shard, false);
      return found;
    }
    const stretch = await readShard(this.#table, shard, PENDING_STRETCH, this.#walks.get(shard) ?? head.rest);
    if (stretch.rest === undefined) {
      this.#walks.delete(shard);
      this.#walked.add(shard);
    } else this.#walks.set(shard, stretch.rest);
    this.#mark('pending', shard, !this.#walked.has(shard));
    return [...found, ...this.#take(stretch)];
  }

  #take({ shard, entries, from, to }: Stretch): string[] {
    const seen = new Set(entries.map(({ jobId }) => jobId));
    const unclear = entries.filter((entry) => this.#jobs.takeEntry(entry)).map(({ jobId }) => jobId);
    return [...unclear, ...this.#jobs.missing(shard, seen, from, to)];
  }

  #mark(status: 'running' | 'pending', shard: string, isUnread: boolean): void {
    if (isUnread) this.#unread[status].add(shard);
    else this.#unread[status].delete(shard);
  }
}
