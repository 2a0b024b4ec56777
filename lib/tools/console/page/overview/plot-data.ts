import type { SeriesPoint } from '../../page-messages.ts';

/** Seconds shown. */
export const SPAN = 300;
/** Seconds per bar. */
const BAR = 5;

type Points = ReadonlyMap<number, SeriesPoint>;

/** Seconds without a reading repeat the last one. */
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

/** Ends with the last complete bar, which the headline shows. */
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
