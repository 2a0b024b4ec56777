import { isTypeList } from '../wire/events.ts';
import { quoted } from '../wire/message.ts';
import { didYouMean } from '../wire/nearest.ts';
import { beatIntervalMs } from './heartbeat-timing.ts';
import { brokenRelations } from './relations.ts';
import { SettingsError } from './settings-error.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const KIB = 1024;

interface NumberSetting {
  readonly kind: 'number';
  readonly unit: 'ms' | 'bytes' | 'count';
  readonly default: number;
  readonly min: number;
  readonly max: number;
  readonly description: string;
}

interface ChoiceSetting {
  readonly kind: 'choice';
  readonly default: string;
  readonly choices: readonly string[];
  readonly description: string;
}

interface SwitchSetting {
  readonly kind: 'switch';
  readonly default: boolean;
  readonly description: string;
}

interface TypesSetting {
  readonly kind: 'types';
  readonly default: string;
  readonly description: string;
}

export type SettingDeclaration = NumberSetting | ChoiceSetting | SwitchSetting | TypesSetting;

const ms = (standard: number, min: number, max: number, description: string) =>
  ({ kind: 'number', unit: 'ms', default: standard, min, max, description }) as const;
const count = (standard: number, min: number, max: number, description: string) =>
  ({ kind: 'number', unit: 'count', default: standard, min, max, description }) as const;
const bytes = (standard: number, max: number, description: string) =>
  ({ kind: 'number', unit: 'bytes', default: standard, min: 256, max, description }) as const;

export const declarations = {
  leaseMs: ms(20 * SECOND, 10 * SECOND, HOUR, 'how long a claim holds without a heartbeat'),
  minLeaseMs: ms(20 * SECOND, 10 * SECOND, HOUR, 'shortest lease that a job type or a message may ask for'),
  heartbeatMs: ms(5 * SECOND, SECOND, 20 * MINUTE, 'how often a running job’s lease is extended'),
  skewMs: ms(
    2 * SECOND,
    2 * SECOND,
    5 * MINUTE,
    'how far two clocks may differ; added to every lease before it is reclaimed',
  ),
  maxAttempts: count(5, 1, 25, 'errors and crashes together after which a job fails for good'),
  maxCrashes: count(3, 1, 25, 'crashes after which a job is quarantined'),
  maxLapses: count(5, 1, 25, 'lapses, that is lost hosts, after which a job is quarantined'),
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
  maxStartsPerSecond: count(100, 1, 1_000_000, 'jobs started in a second that the stack must support'),
  rowRetentionMs: ms(15 * DAY, DAY, 3650 * DAY, 'how long a finished job’s row is kept'),
  queueRetentionMs: ms(4 * DAY, HOUR, 14 * DAY, 'how long SQS keeps a message'),
  deadLetterRetentionMs: ms(14 * DAY, HOUR, 14 * DAY, 'how long the dead-letter queue keeps a message'),
  maxPayloadBytes: bytes(64 * KIB, 1020 * KIB, 'largest payload; a whole SQS message may have 1 MiB'),
  maxCheckpointBytes: bytes(32 * KIB, 64 * KIB, 'largest checkpoint'),
  maxResultBytes: bytes(32 * KIB, 64 * KIB, 'largest result'),
  batchSize: count(1, 1, 10, 'messages in one invocation of the worker'),
  batchWindowMs: ms(0, 0, 5 * MINUTE, 'how long SQS gathers messages for a batch'),
  batchConcurrency: count(1, 1, 10, 'jobs of one batch that run at the same time'),
  workerConcurrency: count(50, 2, 1000, 'invocations of the worker at the same time'),
  functionTimeoutMs: ms(15 * MINUTE, 10 * SECOND, 15 * MINUTE, 'longest invocation of the worker'),
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
    description:
      'whether handlers run in separate processes (`cells`) or in their host (`none`): for tests and functions below 256 MB',
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
  maxRunMs: ms(DAY, SECOND, 30 * DAY, 'age at which an attempt is stopped'),
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
    'longest time between progress reports before an attempt is stopped; 0 expects none',
  ),
  reaperEnabled: { kind: 'switch', default: true, description: 'whether the reaper acts' },
  reaperIntervalMs: ms(MINUTE, MINUTE, HOUR, 'how often the schedule starts a reaper'),
  minSweepIntervalMs: ms(500, 100, MINUTE, 'shortest time between two sweeps of one reaper'),
  logLevel: {
    kind: 'choice',
    default: 'INFO',
    choices: ['DEBUG', 'INFO', 'WARN', 'ERROR'],
    description: 'what is logged; INFO has one line for each job',
  },
  metricsByType: {
    kind: 'switch',
    default: false,
    description:
      'whether wait and run time are measured for each job type: two custom metrics a type, $0.60 a month',
  },
  fair: {
    kind: 'switch',
    default: false,
    description:
      'whether messages carry their `key` as SQS’s message group, so that no tenant’s backlog delays the others on Lambda',
  },
  eventsEnabled: { kind: 'switch', default: true, description: 'whether events go to EventBridge' },
  startedEvents: {
    kind: 'types',
    default: '',
    description: 'types, separated by commas, whose jobs publish JobStarted; * means all',
  },
  doneEvents: {
    kind: 'types',
    default: '',
    description: 'types, separated by commas, whose jobs publish JobDone; * means all',
  },
} as const satisfies Record<string, SettingDeclaration>;

export type SettingName = keyof typeof declarations;

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

export const MAX_DELAY_MS = 365 * DAY;
export const MAX_LEASE_MS = declarations.leaseMs.max;

export interface SettingLimits {
  /** Lifts the lower limits of all times, for demos and tests on one machine, never on AWS. @default false */
  readonly allowShortTimes?: boolean;
}

/** Names every problem at once; a derived setting, such as the heartbeat, follows when only its source is given. */
export function resolveSettings(
  given: Readonly<Record<string, unknown>> = {},
  { allowShortTimes = false }: SettingLimits = {},
): Settings {
  const chosen = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const settings = { ...defaultSettings, ...followers(chosen), ...chosen } as Settings;
  const problems = [
    ...Object.keys(chosen)
      .filter((name) => !Object.hasOwn(declarations, name))
      .map(
        (name) =>
          `setting '${name}' is unknown.${didYouMean(name, settingNames)} Allowed: ${settingNames.join(', ')}`,
      ),
    // A derived setting is not the user's mistake.
    ...settingNames
      .filter((name) => Object.hasOwn(chosen, name))
      .flatMap((name) => problemsOf(name, settings, allowShortTimes)),
  ];
  if (problems.length === 0) problems.push(...brokenRelations(settings));
  if (problems.length > 0) throw new SettingsError(problems);
  return settings;
}

function followers(given: Readonly<Record<string, unknown>>): Partial<Record<SettingName, number>> {
  const { leaseMs } = given;
  const follow: Partial<Record<SettingName, number>> = {};
  if (typeof leaseMs === 'number') {
    follow.heartbeatMs = beatIntervalMs(leaseMs, defaultSettings);
    follow.minLeaseMs = Math.min(leaseMs, defaultSettings.minLeaseMs);
  }
  return follow;
}

function problemsOf(name: SettingName, settings: Settings, allowShortTimes: boolean): string[] {
  const declaration: SettingDeclaration = declarations[name];
  const value: unknown = settings[name];
  const refuse = (allowed: string) => [
    `setting '${name}' is ${quoted(value)}; it must be ${allowed} (${declaration.description})`,
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
      const min =
        allowShortTimes && declaration.unit === 'ms' ? Math.min(1, declaration.min) : declaration.min;
      const fits =
        typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= declaration.max;
      const unit = declaration.unit === 'count' ? '' : ` ${declaration.unit}`;
      return fits ? [] : refuse(`a whole number from ${min} to ${declaration.max}${unit}`);
    }
  }
}
