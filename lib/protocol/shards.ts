/** FNV-1a is even and stable across versions; another hash would lose no row but would move hot keys. */
const shardOf = (jobId: string, shards: number): number => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < jobId.length; i++) {
    hash ^= jobId.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return (hash >>> 0) % shards;
};

export const runningShard = (jobId: string, shards: number): string => `r${shardOf(jobId, shards)}`;
export const failedShard = (jobId: string, shards: number): string => `f${shardOf(jobId, shards)}`;
export const pendingShard = (jobId: string, shards: number): string => `q${shardOf(jobId, shards)}`;

/** Sweeps read running shards first, then pending ones, and never failed ones. */
export const allShards = (shards: number): Readonly<Record<'running' | 'pending' | 'failed', string[]>> => ({
  running: Array.from({ length: shards }, (_, n) => `r${n}`),
  pending: Array.from({ length: shards }, (_, n) => `q${n}`),
  failed: Array.from({ length: shards }, (_, n) => `f${n}`),
});
