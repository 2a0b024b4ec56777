/** Several measurements of one thing: the middle, and how far they lie apart. */
export interface Spread {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  readonly runs: number;
}

export function spreadOf(values: readonly number[]): Spread | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const [lowest] = sorted;
  const highest = sorted.at(-1);
  if (lowest === undefined || highest === undefined) return undefined;
  return { median: quantile(sorted, 0.5), lowest, highest, runs: sorted.length };
}

/** Of values in rising order; between two neighbors it lies on the line. */
export function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const below = sorted[Math.floor(at)] ?? 0;
  const above = sorted[Math.ceil(at)] ?? below;
  return below + (above - below) * (at - Math.floor(at));
}
