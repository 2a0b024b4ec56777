import type { ReclaimPoint, SeriesChanges, SeriesPoint } from './page-messages.ts';

/** The figures behind the plots, second by second, for the last ten minutes. */
export interface Series {
  finished(at: number): void;
  reclaimed(point: ReclaimPoint): void;
  /** Takes the reading of this moment. */
  read(now: number, reading: { readonly live: number; readonly waiting: number }): void;
  all(): SeriesChanges;
  /** What was added or altered since the last call. */
  changes(): SeriesChanges;
}

const SERIES_SECONDS = 600;
const RECLAIMS = 500;
/** A reclaim may be told by its event and by its row, with times that differ a little. */
const SAME_EVENT_MS = 1_000;

export function createSeries(): Series {
  const points = new Map<number, { second: number; done: number; live: number; waiting: number }>();
  const reclaims: ReclaimPoint[] = [];
  const altered = new Set<number>();
  let fresh: ReclaimPoint[] = [];

  const pointAt = (second: number) => {
    const found = points.get(second);
    altered.add(second);
    if (found !== undefined) return found;
    const point = { second, done: 0, live: 0, waiting: 0 };
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
    finished(at) {
      pointAt(Math.floor(at / 1000)).done += 1;
    },
    reclaimed(point) {
      if (reclaims.some(({ jobId, at }) => jobId === point.jobId && Math.abs(at - point.at) < SAME_EVENT_MS))
        return;
      reclaims.push(point);
      fresh.push(point);
      if (reclaims.length > RECLAIMS) reclaims.shift();
    },
    read(now, { live, waiting }) {
      const second = Math.floor(now / 1000);
      const before = points.get(second - 1);
      const point = points.get(second);
      // A quiet system needs no new points: the page extends the last reading.
      if (point === undefined && live === 0 && before?.live === undefined && altered.size === 0) return;
      if (point?.live === live && point.waiting === waiting) return;
      Object.assign(pointAt(second), { live, waiting });
      prune(now);
    },
    all: () => ({ points: sorted(points.values()), reclaims: [...reclaims], reset: true }),
    changes() {
      const chosen = [...altered].flatMap((second) => points.get(second) ?? []);
      altered.clear();
      const news = fresh;
      fresh = [];
      return { points: sorted(chosen), reclaims: news };
    },
  };
}
