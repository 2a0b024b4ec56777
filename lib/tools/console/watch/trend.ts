import type { LastHour } from '../../inspect/health.ts';
import { type Trend, type TrendLine, type TrendSpan, trendSpans } from '../page-messages.ts';

const BUCKET_MS = 5_000;
const HOUR_MS = trendSpans['1h'].ms;
const KEPT_MS = trendSpans['1d'].ms;

type Event = 'done' | 'failed' | 'crashed' | 'reclaimed';
type Reading = 'running' | 'waiting' | 'delayMs';

/** Events add up, readings keep their maximum. */
type Bucket = Partial<Record<Event | Reading, number>> & { isLookedAt?: boolean };

export type TrendMemory = ReturnType<typeof createTrend>;

export function createTrend() {
  const buckets = new Map<number, Bucket>();
  let firstLook: number | undefined;

  const bucketAt = (at: number): Bucket => {
    const start = Math.floor(at / BUCKET_MS) * BUCKET_MS;
    const found = buckets.get(start);
    if (found !== undefined) return found;
    const bucket: Bucket = {};
    buckets.set(start, bucket);
    return bucket;
  };
  const within = (from: number, to: number): Bucket[] => {
    const found: Bucket[] = [];
    for (let at = Math.floor(from / BUCKET_MS) * BUCKET_MS; at < to; at += BUCKET_MS) {
      const bucket = buckets.get(at);
      if (bucket !== undefined) found.push(bucket);
    }
    return found;
  };

  return {
    look(now: number, readings: { readonly running: number; readonly waiting: number | undefined }): void {
      firstLook = Math.min(firstLook ?? now, now);
      const bucket = bucketAt(now);
      bucket.isLookedAt = true;
      bucket.running = Math.max(bucket.running ?? 0, readings.running);
      if (readings.waiting !== undefined) bucket.waiting = Math.max(bucket.waiting ?? 0, readings.waiting);
      for (const start of buckets.keys()) if (start < now - KEPT_MS) buckets.delete(start);
    },
    count(event: Event, at: number, now: number): void {
      if (now - at > KEPT_MS) return;
      const bucket = bucketAt(at);
      bucket[event] = (bucket[event] ?? 0) + 1;
    },
    measure(reading: 'delayMs', at: number, ms: number): void {
      const bucket = bucketAt(at);
      bucket[reading] = Math.max(bucket[reading] ?? 0, ms);
    },
    read(span: TrendSpan, now: number): Trend {
      const { ms, stepMs } = trendSpans[span];
      const to = Math.ceil(now / stepMs) * stepMs;
      const starts = Array.from({ length: ms / stepMs }, (_, i) => to - ms + i * stepMs);
      const steps = starts.map((start) => within(start, start + stepMs));
      const line = (of: (step: readonly Bucket[]) => number | null) => steps.map(of);
      const sum = (event: Event) => line((step) => summed(step, event));
      const most = (reading: Reading) => line((step) => mostOf(step, reading));
      const lines: Partial<Record<TrendLine, (number | null)[]>> = {
        done: sum('done'),
        failed: sum('failed'),
        crashed: sum('crashed'),
        reclaimed: sum('reclaimed'),
        running: most('running'),
        waiting: most('waiting'),
      };
      return { from: to - ms, stepMs, source: 'memory', since: firstLook, lines };
    },
    /** Whole where all rows are read: they tell what happened before the first look. */
    lastHour(now: number): LastHour {
      const hour = within(now - HOUR_MS, now + BUCKET_MS);
      const sum = (event: Event) => summed(hour, event) ?? 0;
      return {
        done: sum('done'),
        failed: sum('failed'),
        crashed: sum('crashed'),
        reclaimed: sum('reclaimed'),
        reclaimDelayMs: mostOf(hour, 'delayMs') ?? undefined,
      };
    },
  };
}

function summed(step: readonly Bucket[], event: Event): number | null {
  const sum = step.reduce((total, bucket) => total + (bucket[event] ?? 0), 0);
  return sum === 0 && !step.some(({ isLookedAt }) => isLookedAt) ? null : sum;
}

function mostOf(step: readonly Bucket[], reading: Reading): number | null {
  const known = step.flatMap((bucket) => bucket[reading] ?? []);
  return known.length === 0 ? null : Math.max(...known);
}
