export class ShardMembers {
  readonly #jobs = new Map<string, Set<string>>();
  readonly #shardOf = new Map<string, string>();

  place(jobId: string, shard: string | undefined): void {
    const before = this.#shardOf.get(jobId);
    if (before === shard) return;
    if (before !== undefined) this.#jobs.get(before)?.delete(jobId);
    this.#shardOf.delete(jobId);
    if (shard === undefined) return;
    this.#shardOf.set(jobId, shard);
    const members = this.#jobs.get(shard) ?? new Set();
    this.#jobs.set(shard, members.add(jobId));
  }

  of(jobId: string): string | undefined {
    return this.#shardOf.get(jobId);
  }

  members(shard: string): Iterable<string> {
    return this.#jobs.get(shard) ?? [];
  }
}
