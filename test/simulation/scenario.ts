import { resolveSettings, type Settings } from '../../lib/jobs/settings.ts';
import type { SeededRandom } from '../support/random.ts';

const MINUTE = 60_000;

/** The production defaults, but for fewer shards and shorter waits: the same protocol in fewer virtual hours. */
export const simulatedSettings: Settings = resolveSettings({
  shards: 1,
  minSweepIntervalMs: 2000,
  maxRunning: 100,
  maxReleases: 6,
  backoffCapMs: MINUTE,
  dispatchLeaseCapMs: 8 * MINUTE,
  functionTimeoutMs: 4 * MINUTE,
});

/** What a seed decides about one job. */
export interface PlannedJob {
  readonly jobId: string;
  readonly sentAfterMs: number;
  readonly notBeforeMs?: number;
  /** The producer sends the same job again after this time, then to be run at once. */
  readonly againAfterMs?: number;
  readonly leaseMs?: number;
  readonly maxAttempts: number;
  readonly maxCrashes: number;
}

export interface Scenario {
  readonly chaosMs: number;
  readonly workers: number;
  readonly reapers: number;
  readonly jobs: readonly PlannedJob[];
}

export function planScenario(random: SeededRandom): Scenario {
  const chaosMs = random.integer(20, 120) * 1000;
  const jobs = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, (_, n): PlannedJob => {
    const maxAttempts = random.integer(2, 5);
    return {
      jobId: `job-${n + 1}`,
      sentAfterMs: random.integer(0, chaosMs / 2),
      ...(random.chance(0.2)
        ? { notBeforeMs: random.integer(1000, random.chance(0.1) ? 20 * MINUTE : 2 * MINUTE) }
        : {}),
      ...(random.chance(0.2) ? { againAfterMs: random.integer(0, chaosMs / 2) } : {}),
      ...(random.chance(0.3) ? { leaseMs: random.integer(10, 60) * 1000 } : {}),
      maxAttempts,
      maxCrashes: random.integer(1, maxAttempts),
    };
  });
  return {
    chaosMs,
    workers: random.integer(1, 3),
    reapers: random.integer(1, 2),
    jobs,
  };
}
