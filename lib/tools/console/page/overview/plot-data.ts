import type { SeriesPoint } from '../../page-messages.ts';

/** What the plots show of the past, in seconds. */
export const SPAN = 300;
/** Seconds of one bar of a rate. */
const BAR = 5;

type Points = ReadonlyMap<number, SeriesPoint>;

/** One value for each second of the span; seconds without a reading carry the last one on. */
export function readings(points: Points, now: number, value: (point: SeriesPoint) => number | undefined) {
  const last = Math.floor(now / 1000);
  const xs: number[] = [];
  const ys: number[] = [];
  let carried = 0;
  for (let second = last - 2 * SPAN; second <= last; second++) {
    const point = points.get(second);
    carried = (point && value(point)) ?? carried;
    if (second < last - SPAN) continue;
    xs.push(second);
    ys.push(carried);
  }
  return [xs, ys] as const;
}

/** Bars of a few seconds each, as rates; the last one is the last that is complete, and is what the headline says. */
export function rates(points: Points, now: number, value: (point: SeriesPoint) => number) {
  const end = Math.floor(now / 1000 / BAR) * BAR;
  const xs: number[] = [];
  const ys: number[] = [];
  for (let start = end - SPAN; start < end; start += BAR) {
    let sum = 0;
    for (let second = start; second < start + BAR; second++) {
      const point = points.get(second);
      if (point !== undefined) sum += value(point);
    }
    xs.push(start);
    ys.push(sum / BAR);
  }
  return [xs, ys] as const;
}
