import { isTypeList } from '../wire/events.ts';
import { quoted } from '../wire/message.ts';
import { didYouMean } from '../wire/nearest.ts';
import { brokenRelations } from './relations.ts';
import { SettingsError } from './settings-error.ts';

/**
 * Every setting, declared once: default, limits, unit, and what it means. Stack, functions, local stack, CLI and docs
 * all read this table; relations between settings are in relations.ts.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const KIB = 1024;

interface NumberSetting {
  readonly kind: 'number';
  readonly unit: 'ms' | 'bytes' | 'count' | 'share';
  readonly default: number;
  readonly min: number;
  readonly max: number;
  readonly says: string;
}

interface ChoiceSetting {
  readonly kind: 'choice';
  readonly default: string;
  readonly choices: readonly string[];
  readonly says: string;
}

interface SwitchSetting {
  readonly kind: 'switch';
  readonly default: boolean;
  readonly says: string;
}

interface TypesSetting {
  readonly kind: 'types';
  readonly default: string;
  readonly says: string;
}

export type SettingDeclaration = NumberSetting | ChoiceSetting | SwitchSetting | TypesSetting;

const ms = (standard: number, min: number, max: number, says: string) =>
  ({ kind: 'number', unit: 'ms', default: standard, min, max, says }) as const;
const count = (standard: number, min: number, max: number, says: string) =>
  ({ kind: 'number', unit: 'count', default: standard, min, max, says }) as const;
const bytes = (standard: number, max: number, says: string) =>
  ({ kind: 'number', unit: 'bytes', default: standard, min: 256, max, says }) as const;

export const declarations = {
  leaseMs: ms(30 * SECOND, 10 * SECOND, HOUR, 'how long a claim holds without a heartbeat'),
  minLeaseMs: ms(30 * SECOND, 10 * SECOND, HOUR, 'shortest lease that a job type or a message may ask for'),
  heartbeatMs: ms(10 * SECOND, SECOND, 20 * MINUTE, 'how often a running job’s lease is extended'),
  leaseGrowth: {
    kind: 'number',
    unit: 'share',
    default: 0,
    min: 0,
    max: 1,
    says: 'share of an attempt’s age to which its lease grows, so that long jobs send fewer heartbeats; 0 keeps it fixed',
  },
  leaseGrowthCapMs: ms(10 * MINUTE, 10 * SECOND, HOUR, 'length at which a growing lease stops growing'),
  skewMs: ms(
    2 * SECOND,
    2 * SECOND,
    5 * MINUTE,
    'how far two clocks may differ; added to every lease before it is reclaimed',
  ),
  graceMs: ms(0, 0, DAY, 'extra time, after the skew, before a lapsed lease is reclaimed'),
  maxAttempts: count(5, 1, 25, 'errors and crashes together after which a job fails for good'),
  maxCrashes: count(3, 1, 25, 'crashes after which a job is quarantined'),
  maxReleases: count(1000, 1, 100_000, 'releases after which a job fails for good'),
  backoffBaseMs: ms(2 * SECOND, 0, HOUR, 'maximum delay of the first retry; doubles with each error'),
  backoffCapMs: ms(15 * MINUTE, 0, DAY, 'maximum retry delay'),
  dispatchLeaseMs: ms(
    MINUTE,
    5 * SECOND,
    HOUR,
    'how long the queue may hold a hint before it is sent again; doubles each time',
  ),
  dispatchLeaseCapMs: ms(4 * HOUR, 5 * SECOND, DAY, 'maximum of `dispatchLeaseMs` after doubling'),
  shards: count(8, 1, 256, 'partitions of the lease index; may only grow'),
  maxRunning: count(1000, 1, 10_000_000, 'running jobs at once that the shards must support'),
  rowRetentionMs: ms(15 * DAY, DAY, 3650 * DAY, 'how long a finished job’s row is kept'),
  queueRetentionMs: ms(4 * DAY, HOUR, 14 * DAY, 'how long SQS keeps a message'),
  deadLetterRetentionMs: ms(14 * DAY, HOUR, 14 * DAY, 'how long the dead-letter queue keeps a message'),
  maxPayloadBytes: bytes(64 * KIB, 1020 * KIB, 'largest payload; SQS takes 1 MiB with what is around it'),
  maxCheckpointBytes: bytes(32 * KIB, 64 * KIB, 'largest checkpoint'),
  maxResultBytes: bytes(32 * KIB, 64 * KIB, 'largest result'),
  maxErrorBytes: bytes(4 * KIB, 8 * KIB, 'longest error text'),
  batchSize: count(1, 1, 10, 'messages in one invocation of the worker'),
  batchWindowMs: ms(0, 0, 5 * MINUTE, 'how long SQS gathers messages for a batch'),
  batchConcurrency: count(1, 1, 10, 'jobs of one batch that run at the same time'),
  workerConcurrency: count(50, 2, 1000, 'invocations of the worker at the same time'),
  functionTimeoutMs: ms(15 * MINUTE, 10 * SECOND, 15 * MINUTE, 'longest invocation of the worker'),
  visibilityTimeoutMs: ms(
    16 * MINUTE,
    10 * SECOND,
    12 * HOUR,
    'how long SQS hides a message that was received',
  ),
  maxReceiveCount: count(10, 10, 1000, 'deliveries after which a message goes to the dead-letter queue'),
  deadlineMarginMs: ms(
    10 * SECOND,
    2 * SECOND,
    5 * MINUTE,
    'time before the invocation’s end at which its jobs are asked to stop',
  ),
  processConcurrency: count(10, 1, 1000, 'jobs that one worker process runs at the same time'),
  isolation: {
    kind: 'choice',
    default: 'cells',
    choices: ['cells', 'none'],
    says: 'whether handlers run in processes of their own (cells), or beside their host: for tests and functions below 256 MB',
  },
  cells: count(0, 0, 100, 'processes that share a worker process’s jobs; 0 means one for each processor'),
  cellMemoryMb: count(
    0,
    0,
    1_000_000,
    'memory of one cell, beyond which it is killed; 0 means an even share of what the machine or container has',
  ),
  killAfterMs: ms(
    10 * SECOND,
    100,
    HOUR,
    'how long a handler may take to stop for its signal before its cell is killed',
  ),
  shutdownGraceMs: ms(
    20 * SECOND,
    0,
    HOUR,
    'how long a stopping process lets its jobs finish before it releases them',
  ),
  maxRunMs: ms(DAY, SECOND, 30 * DAY, 'age of an attempt at which its heartbeats stop'),
  maxStallMs: ms(
    2 * MINUTE,
    SECOND,
    DAY,
    'how long a handler may block the event loop before its cell is killed',
  ),
  progressTimeoutMs: ms(
    0,
    0,
    DAY,
    'longest time between progress reports before heartbeats stop; 0 expects none',
  ),
  reaperEnabled: { kind: 'switch', default: true, says: 'whether the reaper acts' },
  reaperIntervalMs: ms(MINUTE, MINUTE, HOUR, 'how often the schedule starts a reaper'),
  minSweepIntervalMs: ms(500, 100, MINUTE, 'shortest time between two sweeps of one reaper'),
  leaderLeaseMs: ms(
    15 * SECOND,
    5 * SECOND,
    MINUTE,
    'how long a reaper in a process leads without completing a sweep',
  ),
  breakerThreshold: count(50, 10, 1_000_000, 'lapsed leases at which the breaker may open'),
  breakerShare: {
    kind: 'number',
    unit: 'share',
    default: 0.5,
    min: 0.05,
    max: 1,
    says: 'share of the running leases that must have lapsed for the breaker to open',
  },
  breakerPerSweep: count(1000, 25, 1_000_000, 'jobs that one sweep reclaims while the breaker is open'),
  logLevel: {
    kind: 'choice',
    default: 'INFO',
    choices: ['DEBUG', 'INFO', 'WARN', 'ERROR'],
    says: 'what is logged; INFO has one line for each job',
  },
  metricsByType: {
    kind: 'switch',
    default: false,
    says: 'whether wait and run time are measured for each job type: two custom metrics a type, $0.60 a month',
  },
  eventsEnabled: { kind: 'switch', default: true, says: 'whether events go to EventBridge' },
  startedEvents: {
    kind: 'types',
    default: '',
    says: 'types, separated by commas, whose jobs publish JobStarted; * means all',
  },
  doneEvents: {
    kind: 'types',
    default: '',
    says: 'types, separated by commas, whose jobs publish JobDone; * means all',
  },
  timeScale: count(
    1,
    1,
    1000,
    'divides the lower limits of all times, for demos and tests; a deployed stack allows only 1',
  ),
} as const satisfies Record<string, SettingDeclaration>;

export type SettingName = keyof typeof declarations;

/** A complete and consistent set of settings. */
export type Settings = {
  readonly [name in SettingName]: (typeof declarations)[name] extends { kind: 'switch' }
    ? boolean
    : (typeof declarations)[name] extends { kind: 'types' }
      ? string
      : (typeof declarations)[name] extends { kind: 'choice'; choices: readonly (infer choice)[] }
        ? choice
        : number;
};

export const settingNames = Object.keys(declarations) as SettingName[];

export const defaultSettings = Object.fromEntries(
  settingNames.map((name) => [name, declarations[name].default]),
) as Settings;

/** The latest instant, from now, for which a message may schedule a job. */
export const MAX_DELAY_MS = 365 * DAY;
/** The longest lease that a job type or a message may ask for. */
export const MAX_LEASE_MS = declarations.leaseMs.max;

/**
 * Fills in defaults and refuses what cannot work, naming every problem at once. A setting that follows from another
 * (the heartbeat from the lease, the visibility timeout from the function timeout) moves along when only the other is given.
 */
export function resolveSettings(given: Readonly<Record<string, unknown>> = {}): Settings {
  const chosen = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const settings = { ...defaultSettings, ...followers(chosen), ...chosen } as Settings;
  const problems = [
    ...Object.keys(chosen)
      .filter((name) => !Object.hasOwn(declarations, name))
      .map(
        (name) =>
          `setting '${name}' is unknown.${didYouMean(name, settingNames)} Allowed: ${settingNames.join(', ')}`,
      ),
    // Only what was given: a setting that merely followed is not to blame.
    ...settingNames
      .filter((name) => Object.hasOwn(chosen, name))
      .flatMap((name) => problemsOf(name, settings)),
  ];
  if (problems.length === 0) problems.push(...brokenRelations(settings));
  if (problems.length > 0) throw new SettingsError(problems);
  return settings;
}

function followers(given: Readonly<Record<string, unknown>>): Partial<Record<SettingName, number>> {
  const { leaseMs, functionTimeoutMs, batchWindowMs, timeScale } = given;
  const follow: Partial<Record<SettingName, number>> = {};
  if (typeof leaseMs === 'number') {
    follow.heartbeatMs = Math.floor(leaseMs / 3);
    follow.minLeaseMs = Math.min(leaseMs, defaultSettings.minLeaseMs);
  }
  if (typeof functionTimeoutMs === 'number' || typeof batchWindowMs === 'number')
    follow.visibilityTimeoutMs =
      numberOr(functionTimeoutMs, defaultSettings.functionTimeoutMs) +
      numberOr(batchWindowMs, defaultSettings.batchWindowMs) +
      Math.ceil(MINUTE / numberOr(timeScale, 1));
  return follow;
}

const numberOr = (value: unknown, otherwise: number): number =>
  typeof value === 'number' ? value : otherwise;

/** The lowest value allowed at this time scale. */
export const lowest = (declaration: NumberSetting, timeScale: number): number =>
  declaration.unit === 'ms' ? Math.ceil(declaration.min / timeScale) : declaration.min;

function problemsOf(name: SettingName, settings: Settings): string[] {
  const declaration: SettingDeclaration = declarations[name];
  const value: unknown = settings[name];
  const refuse = (allowed: string) => [
    `setting '${name}' is ${quoted(value)}; it must be ${allowed} (${declaration.says})`,
  ];
  switch (declaration.kind) {
    case 'switch':
      return typeof value === 'boolean' ? [] : refuse('true or false');
    case 'choice':
      return declaration.choices.includes(value as string)
        ? []
        : refuse(`one of ${declaration.choices.join(', ')}`);
    case 'types':
      return isTypeList(value)
        ? []
        : refuse("types separated by commas, such as invoice,report, or '*' for all of them");
    case 'number': {
      const whole = declaration.unit === 'share' ? 'a number' : 'a whole number';
      const min = lowest(
        declaration,
        Number.isFinite(settings.timeScale) ? Math.max(1, settings.timeScale) : 1,
      );
      const fits =
        typeof value === 'number' &&
        (declaration.unit === 'share' ? Number.isFinite(value) : Number.isSafeInteger(value)) &&
        value >= min &&
        value <= declaration.max;
      return fits
        ? []
        : refuse(
            `${whole} from ${min} to ${declaration.max}${declaration.unit === 'count' || declaration.unit === 'share' ? '' : ` ${declaration.unit}`}`,
          );
    }
  }
}
