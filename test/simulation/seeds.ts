/** Consecutive seeds: which schedule each stands for is decided by hashing it. */
export function* seedsFrom(first: number, count: number): Generator<number> {
  for (let seed = first; seed < first + count; seed++) yield seed;
}
