import type { ReclaimPoint, SeriesChanges, SeriesPoint } from './page-messages.ts';

const SERIES_SECONDS = 600;
const RECLAIMS = 500;
/** A reclaim's event and row may report slightly different times. */
const SAME_EVENT_MS = 1_000;

export type Series = ReturnType<typeof createSeries>;

export function createSeries() {
  const points = new Map<number, { second: number; done: number; live?: number; waiting?: number }>();
  const reclaims: ReclaimPoint[] = [];
  const altered = new Set<number>();
  let fresh: ReclaimPoint[] = [];
  let last: { readonly live: number; readonly waiting: number } | undefined;

  const pointAt = (second: number) => {
    const found = points.get(second);
    altered.add(second);
    if (found !== undefined) return found;
    const point = { second, done: 0 };
    points.set(second, point);
    return point;
  };
  const prune = (now: number) => {
    const oldest = Math.floor(now / 1000) - SERIES_SECONDS;
    for (const second of points.keys()) if (second < oldest) points.delete(second);
  };
  const sorted = (chosen: Iterable<SeriesPoint>): SeriesPoint[] =>
    [...chosen].map((point) => ({ ...point })).sort((a, b) => a.second - b.second);

  return {
    /** Ignores jobs that finished before the plotted span. */
    finished(at: number, now: number): void {
      if (now - at > SERIES_SECONDS * 1000) return;
      pointAt(Math.floor(at / 1000)).done += 1;
      prune(now);
    },
    reclaimed(point: ReclaimPoint): void {
      if (reclaims.some(({ jobId, at }) => jobId === point.jobId && Math.abs(at - point.at) < SAME_EVENT_MS))
        return;
      reclaims.push(point);
      fresh.push(point);
      if (reclaims.length > RECLAIMS) reclaims.shift();
    },
    read(now: number, reading: { readonly live: number; readonly waiting: number }): void {
      // The page repeats the last reading until it changes.
      if (last?.live === reading.live && last.waiting === reading.waiting) return;
      last = reading;
      Object.assign(pointAt(Math.floor(now / 1000)), reading);
      prune(now);
    },
    all: (): SeriesChanges => ({ points: sorted(points.values()), reclaims: [...reclaims], reset: true }),
    changes(): SeriesChanges {
      const chosen = [...altered].flatMap((second) => points.get(second) ?? []);
      altered.clear();
      const news = fresh;
      fresh = [];
      return { points: sorted(chosen), reclaims: news };
    },
  };
}
