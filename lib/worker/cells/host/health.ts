const MOST_ENDS = 20;
const LEAST_FAILURES = 5;
/** A failing cell needs this share of failures, and this multiple of the others' share. */
const SHARE = 0.5;
const TIMES = 4;

export type RecentEnds = readonly boolean[];

export const withEnd = (ends: RecentEnds, hasFailed: boolean): RecentEnds =>
  [...ends, hasFailed].slice(-MOST_ENDS);

export const keepsFailing = (ends: RecentEnds): boolean =>
  failuresIn(ends.slice(-LEAST_FAILURES)) === LEAST_FAILURES;

/** If handlers fail only in this cell, the cell is at fault. */
export function standsOut(ends: RecentEnds, others: readonly RecentEnds[]): boolean {
  const elsewhere = others.flat();
  const share = failuresIn(ends) / ends.length;
  if (failuresIn(ends) < LEAST_FAILURES || share < SHARE || elsewhere.length < MOST_ENDS) return false;
  return share >= (TIMES * failuresIn(elsewhere)) / elsewhere.length;
}

const failuresIn = (ends: RecentEnds): number => ends.filter((hasFailed) => hasFailed).length;
