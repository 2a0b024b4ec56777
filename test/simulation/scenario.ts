import { resolveSettings, type Settings } from '../../lib/settings/settings.ts';
import type { Limit } from '../../lib/wire/limits.ts';
import type { SeededRandom } from '../support/random.ts';

const MINUTE = 60_000;

/** The production defaults, but for fewer shards and shorter waits: the same protocol in fewer virtual hours. */
export const simulatedSettings: Settings = resolveSettings({
  shards: 1,
  minLeaseMs: 10_000,
  minSweepIntervalMs: 2000,
  maxRunning: 100,
  maxReleases: 6,
  backoffCapMs: MINUTE,
  dispatchLeaseCapMs: 8 * MINUTE,
  functionTimeoutMs: 4 * MINUTE,
  maxStallMs: 5000,
  killAfterMs: 5000,
});

/**
 * A full schedule has room for long histories; a brief one has one job and few chances, so that there can be many of them; a
 * crowd has many jobs in the cells of few hosts, some of which kill the cell they are in; a limited one has jobs of which only
 * some may run at once.
 */
export type Size = 'full' | 'brief' | 'crowd' | 'limited';

/** How often a process is disturbed, and how long things take at most. */
export interface Pace {
  readonly disturbedEveryMs: number;
  readonly pauseMs: number;
  readonly partitionMs: number;
  /** Until somebody who died is replaced. */
  readonly absenceMs: number;
  /** One step of a handler. */
  readonly stepMs: number;
  /** How long a handler that ignores its signal goes on. */
  readonly overrunMs: number;
  /** How long a handler blocks its cell. */
  readonly stallMs: number;
  /** How late a request can still be applied after it was sent. */
  readonly requestMs: number;
  /** How late a message can get to its queue. */
  readonly messageMs: number;
}

const paces: Readonly<Record<Exclude<Size, 'limited'>, Pace>> = {
  full: {
    disturbedEveryMs: 10_000,
    pauseMs: 120_000,
    partitionMs: 60_000,
    absenceMs: 60_000,
    stepMs: 20_000,
    overrunMs: 300_000,
    stallMs: 60_000,
    requestMs: 90_000,
    messageMs: 300_000,
  },
  brief: {
    disturbedEveryMs: 4000,
    pauseMs: 30_000,
    partitionMs: 20_000,
    absenceMs: 20_000,
    stepMs: 2000,
    overrunMs: 30_000,
    stallMs: 15_000,
    requestMs: 25_000,
    messageMs: 60_000,
  },
  crowd: {
    disturbedEveryMs: 4000,
    pauseMs: 30_000,
    partitionMs: 20_000,
    absenceMs: 20_000,
    stepMs: 2000,
    overrunMs: 30_000,
    stallMs: 15_000,
    requestMs: 25_000,
    messageMs: 60_000,
  },
};

const paceOf = (size: Size): Pace => paces[size === 'limited' ? 'brief' : size];

/** A handler that outlives its lease, which is what some mistakes take, is too long for every brief schedule. */
const SHARE_OF_LONG_HANDLERS = 0.2;
const LONG_STEP_MS = 12_000;

export function planPace(random: SeededRandom, size: Size): Pace {
  const pace = paceOf(size);
  return (size === 'brief' || size === 'limited') && random.chance(SHARE_OF_LONG_HANDLERS)
    ? { ...pace, stepMs: LONG_STEP_MS }
    : pace;
}

/** What a seed decides about one job. */
export interface PlannedJob {
  readonly jobId: string;
  readonly key?: string;
  readonly sentAfterMs: number;
  readonly notBeforeMs?: number;
  /** The producer sends the same job again after this time, then to be run at once. */
  readonly againAfterMs?: number;
  readonly leaseMs?: number;
  readonly maxAttempts: number;
  readonly maxCrashes: number;
  /** Kills whatever it runs in, every time; or its whole host. */
  readonly poison?: boolean | 'host';
}

export interface Scenario {
  readonly chaosMs: number;
  readonly workers: number;
  /** Reapers in processes. */
  readonly reapers: number;
  /** The deployed reaper, started by its schedule and by the one before. */
  readonly chain: boolean;
  /** When the first reapers look. */
  readonly reapersAfterMs: number;
  readonly jobs: readonly PlannedJob[];
  readonly limit?: Limit;
  /** When the type is paused, and for how long. */
  readonly pause?: { readonly fromMs: number; readonly forMs: number };
  readonly size: Size;
}

/** What a seed decides about a schedule, besides its faults. */
export function planScenario(random: SeededRandom, size: Size): Scenario {
  const plan = { full: planFull, brief: planBrief, crowd: planCrowd, limited: planLimited }[size];
  return { ...plan(random), size };
}

/** Who looks after the leases: the deployed reaper, reapers in processes, or both side by side. */
type Staff = Pick<Scenario, 'reapers' | 'chain'>;
const CHAIN: Staff = { reapers: 0, chain: true };
const FULL_STAFFS: readonly [Staff, ...Staff[]] = [
  CHAIN,
  { reapers: 1, chain: false },
  { reapers: 2, chain: false },
  { reapers: 1, chain: true },
];
const BRIEF_STAFFS: readonly [Staff, ...Staff[]] = [CHAIN, { reapers: 1, chain: false }];

type Plan = Omit<Scenario, 'size'>;

function planFull(random: SeededRandom): Plan {
  const chaosMs = random.integer(20, 120) * 1000;
  const jobs = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, (_, n): PlannedJob => {
    const maxAttempts = random.integer(2, 5);
    return {
      jobId: `job-${n + 1}`,
      sentAfterMs: random.integer(0, chaosMs / 2),
      notBeforeMs: random.chance(0.2)
        ? random.integer(1000, random.chance(0.1) ? 20 * MINUTE : 2 * MINUTE)
        : undefined,
      againAfterMs: random.chance(0.2) ? random.integer(0, chaosMs / 2) : undefined,
      leaseMs: random.chance(0.3) ? random.integer(10, 60) * 1000 : undefined,
      maxAttempts,
      maxCrashes: random.integer(1, maxAttempts),
    };
  });
  return {
    chaosMs,
    workers: random.integer(1, 3),
    reapersAfterMs: 0,
    jobs,
    ...random.pick(FULL_STAFFS),
  };
}

function planBrief(random: SeededRandom): Plan {
  const chaosMs = random.integer(2, 10) * 1000;
  const maxAttempts = random.integer(2, 4);
  const job: PlannedJob = {
    jobId: 'job-1',
    sentAfterMs: random.integer(0, chaosMs / 4),
    notBeforeMs: random.chance(0.2) ? random.integer(1000, 20_000) : undefined,
    againAfterMs: random.chance(0.2) ? random.integer(0, chaosMs) : undefined,
    leaseMs: random.integer(10, 15) * 1000,
    maxAttempts,
    maxCrashes: random.integer(1, maxAttempts),
  };
  return {
    chaosMs,
    workers: random.pick([1, 1, 2]),
    reapersAfterMs: random.integer(0, chaosMs),
    jobs: [job],
    ...random.pick(BRIEF_STAFFS),
  };
}

/** One poison job among harmless ones, a deployment in which every job is poison, or none. */
const POISON: readonly [number, ...number[]] = [0, 1, 1, Number.POSITIVE_INFINITY];

function planCrowd(random: SeededRandom): Plan {
  const chaosMs = random.integer(5, 15) * 1000;
  const poisonous = random.pick(POISON);
  const jobs = Array.from({ length: random.integer(3, 8) }, (_, n): PlannedJob => {
    const maxAttempts = random.integer(3, 5);
    return {
      jobId: `job-${n + 1}`,
      sentAfterMs: random.integer(0, 4000),
      leaseMs: random.integer(10, 15) * 1000,
      maxAttempts,
      maxCrashes: random.integer(2, 3),
      poison: n < poisonous,
    };
  });
  return {
    ...{ chaosMs, jobs, workers: random.pick([1, 1, 2]), reapersAfterMs: random.integer(0, chaosMs) },
    ...random.pick(BRIEF_STAFFS),
  };
}

const LIMITS: readonly [Limit, ...Limit[]] = [1, 1, 1, 2, { perKey: 1 }, { perKey: 2 }];

function planLimited(random: SeededRandom): Plan {
  const chaosMs = random.integer(4, 20) * 1000;
  const limit = random.pick(LIMITS);
  const jobs = Array.from({ length: random.integer(3, 6) }, (_, n): PlannedJob => {
    const maxAttempts = random.integer(3, 5);
    return {
      jobId: `job-${n + 1}`,
      key: typeof limit === 'object' ? random.pick(['a', 'a', 'b']) : undefined,
      sentAfterMs: random.integer(0, chaosMs / 3),
      notBeforeMs: random.chance(0.1) ? random.integer(1000, 20_000) : undefined,
      againAfterMs: random.chance(0.1) ? random.integer(0, chaosMs) : undefined,
      leaseMs: random.integer(10, 15) * 1000,
      maxAttempts,
      maxCrashes: random.integer(2, maxAttempts),
    };
  });
  return {
    ...{ chaosMs, jobs, limit, workers: random.pick([1, 2, 2, 3]) },
    pause: random.chance(0.2)
      ? { fromMs: random.integer(0, chaosMs), forMs: random.integer(1000, chaosMs) }
      : undefined,
    reapersAfterMs: random.integer(0, chaosMs),
    ...random.pick(BRIEF_STAFFS),
  };
}

/** Ten jobs that one host claims together, of which one kills its whole host every time. Nothing else goes wrong. */
export const hostKiller: Scenario = {
  ...{ chaosMs: 1, workers: 1, ...CHAIN, reapersAfterMs: 0, size: 'crowd' },
  jobs: Array.from({ length: 10 }, (_, n): PlannedJob => {
    const limits = { leaseMs: 10_000, maxAttempts: 5, maxCrashes: 3 };
    return {
      jobId: n === 0 ? 'killer' : `neighbor-${n}`,
      sentAfterMs: 0,
      ...limits,
      poison: n === 0 && 'host',
    };
  }),
};
