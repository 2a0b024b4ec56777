import { counted } from './counted.ts';
import { formatDuration } from './format-duration.ts';
import type { Count, HealthSigns, QueueSigns } from './health.ts';
import { type HealthReason, reason } from './health-reason.ts';

/** A pool's queue and what it runs. */
export interface PoolSigns extends QueueSigns {
  readonly name: string;
  readonly queueUrl: string;
  /** Empty for the default pool, which runs every type that no pool names. */
  readonly types: readonly string[];
  /** Containers that the reaper scales: the most, and the jobs of each. */
  readonly tasks?: { readonly max: number; readonly concurrency: number };
  readonly running: Count;
  /** The map of pools names a queue that does not exist. */
  readonly isAbsent?: boolean;
}

/** The map of pools knows only containers that the reaper scales. */
export const tellCompute = ({ tasks }: Pick<PoolSigns, 'tasks'>): string =>
  tasks === undefined
    ? 'a function or a process of your own'
    : `at most ${counted(tasks.max, 'container')} of ${tasks.concurrency}`;

/** Workers poll without a pause, so a message waits this long only if none is free. */
const UNTAKEN_MS = 10_000;
const DOWN_MS = 60_000;
const SATURATED_MS = 60_000;
/** A container starts within five minutes; the reaper asks for it once a minute. */
const CONTAINER_START_MS = 360_000;

/** Messages that no worker takes, or that wait for long: of the only queue, or of each pool's. */
export const intakeReasons = (signs: HealthSigns): HealthReason[] =>
  signs.pools === undefined
    ? reasonsOf(signs, signs.workers)
    : signs.pools.flatMap((pool) => (pool.isAbsent ? [absentReason(pool)] : reasonsOf(pool)));

const absentReason = ({ name, types, queueUrl }: PoolSigns): HealthReason =>
  reason(
    'poolAbsent',
    'down',
    `pool '${name}' has no queue: ${queueUrl.split('/').at(-1)} does not exist, so no job of type ${types.join(', ')} can be sent`,
    'deploy the stack, and restart producers and workers that have an old LEASEHOLD_POOLS',
  );

type Intake = QueueSigns & Partial<Pick<PoolSigns, 'name' | 'tasks' | 'running'>>;

function reasonsOf(intake: Intake, workers?: HealthSigns['workers']): HealthReason[] {
  const { name, tasks, queue, running, oldestMessageMs, untakenMs } = intake;
  const waiting = queue?.visible ?? 0;
  if (waiting === 0) return [];
  const waits = `${counted(waiting, 'message waits', 'messages wait')}${name === undefined ? '' : ` in pool '${name}'`}`;
  const since = oldestMessageMs === undefined ? '' : `, the oldest for ${formatDuration(oldestMessageMs)}`;
  if (running?.count === 0 && queue?.inFlight === 0) {
    const known = [oldestMessageMs, untakenMs].filter((each) => each !== undefined);
    const ms = known.length === 0 ? UNTAKEN_MS : Math.max(...known);
    if (ms < (tasks === undefined ? UNTAKEN_MS : CONTAINER_START_MS)) return [];
    return [
      reason(
        'untaken',
        ms >= DOWN_MS ? 'down' : 'degraded',
        `${waits}${since}, and no worker takes them`,
        tasks === undefined ? NO_WORKER : NO_CONTAINER,
      ),
    ];
  }
  const { busy, all } = workers ?? { busy: 0 };
  const isFull = all !== undefined && all > 0 && busy >= all;
  if ((oldestMessageMs ?? (isFull ? (untakenMs ?? 0) : 0)) < SATURATED_MS) return [];
  return [
    reason(
      'saturated',
      'degraded',
      isFull
        ? `${waits}${since}, and ${all === 1 ? 'the only worker is' : `all ${all} workers are`} busy`
        : `${waits}${since}`,
      tasks === undefined
        ? 'add workers: raise workerConcurrency, or start more worker processes'
        : `raise the pool's max, which is ${counted(tasks.max, 'container')}`,
    ),
  ];
}

const NO_WORKER =
  "start a worker ('leasehold work'), or look at the worker function: its event source mapping, its errors and its log";
const NO_CONTAINER =
  "look at the pool's service in ECS: its events, its deployment and the log of its containers; then at the metric TasksWanted";
