import type { Duration } from 'aws-cdk-lib';

/** The settings as props, generated from lib/settings by `npx vitest run test/cdk/setting-props.test.ts -u`. */
export interface SettingProps {
  /** How long a claim holds without a heartbeat. @default Duration.seconds(20) */
  readonly lease?: Duration;
  /** Shortest lease that a job type or a message may ask for. @default - 20 seconds, or `lease` if that is shorter */
  readonly minLease?: Duration;
  /** How often a running job’s lease is extended. @default - 5 seconds, or a third of `lease` if you set that */
  readonly heartbeat?: Duration;
  /** How far two clocks may differ; added to every lease before it is reclaimed. @default Duration.seconds(2) */
  readonly skew?: Duration;
  /** Errors and crashes together after which a job fails for good. @default 5 */
  readonly maxAttempts?: number;
  /** Crashes after which a job is quarantined. @default 3 */
  readonly maxCrashes?: number;
  /** Lapses, that is lost hosts, after which a job is quarantined. @default 5 */
  readonly maxLapses?: number;
  /** Releases after which a job fails for good. @default 1000 */
  readonly maxReleases?: number;
  /** Maximum delay of the first retry; doubles with each error. @default Duration.seconds(2) */
  readonly backoffBase?: Duration;
  /** Maximum retry delay. @default Duration.minutes(15) */
  readonly backoffCap?: Duration;
  /** How long the queue may hold a hint before it is sent again; doubles each time. @default Duration.minutes(1) */
  readonly dispatchLease?: Duration;
  /** Maximum of `dispatchLeaseMs` after doubling. @default Duration.hours(4) */
  readonly dispatchLeaseCap?: Duration;
  /** Partitions of the lease index; may only grow. @default 8 */
  readonly shards?: number;
  /** Running jobs at once that the shards must support. @default 1000 */
  readonly maxRunning?: number;
  /** Jobs started in a second that the stack must support. @default 100 */
  readonly maxStartsPerSecond?: number;
  /** How long a finished job’s row is kept. @default Duration.days(15) */
  readonly rowRetention?: Duration;
  /** How long SQS keeps a message. @default Duration.days(4) */
  readonly queueRetention?: Duration;
  /** How long the dead-letter queue keeps a message. @default Duration.days(14) */
  readonly deadLetterRetention?: Duration;
  /** Largest payload; a whole SQS message may have 1 MiB. @default 65536 */
  readonly maxPayloadBytes?: number;
  /** Largest checkpoint. @default 32768 */
  readonly maxCheckpointBytes?: number;
  /** Largest result. @default 32768 */
  readonly maxResultBytes?: number;
  /** Messages in one invocation of the worker. @default 1 */
  readonly batchSize?: number;
  /** How long SQS gathers messages for a batch. @default Duration.millis(0) */
  readonly batchWindow?: Duration;
  /** Jobs of one batch that run at the same time. @default 1 */
  readonly batchConcurrency?: number;
  /** Invocations of the worker at the same time. @default 50 */
  readonly workerConcurrency?: number;
  /** Longest invocation of the worker. @default Duration.minutes(15) */
  readonly functionTimeout?: Duration;
  /** Deliveries after which a message goes to the dead-letter queue. @default 10 */
  readonly maxReceiveCount?: number;
  /** Time before the invocation’s end at which its jobs are asked to stop. @default Duration.seconds(10) */
  readonly deadlineMargin?: Duration;
  /** Jobs that one worker process runs at the same time. @default 10 */
  readonly processConcurrency?: number;
  /**
   * Whether handlers run in separate processes (`cells`) or in their host (`none`): for tests and functions below 256 MB.
   * @default 'cells'
   */
  readonly isolation?: 'cells' | 'none';
  /** Processes that share a worker process’s jobs; 0 means one for each processor. @default 0 */
  readonly cells?: number;
  /**
   * Memory of one cell, beyond which it is killed; 0 means an even share of what the machine or container has.
   * @default 0
   */
  readonly cellMemoryMb?: number;
  /** How long a handler may take to stop for its signal before its cell is killed. @default Duration.seconds(10) */
  readonly killAfter?: Duration;
  /** How long a stopping process lets its jobs finish before it releases them. @default Duration.seconds(20) */
  readonly shutdownGrace?: Duration;
  /** Age at which an attempt is stopped. @default Duration.days(1) */
  readonly maxRun?: Duration;
  /** How long a handler may block the event loop before its cell is killed. @default Duration.minutes(2) */
  readonly maxStall?: Duration;
  /** Longest time between progress reports before an attempt is stopped; 0 expects none. @default Duration.millis(0) */
  readonly progressTimeout?: Duration;
  /** Whether the reaper acts. @default true */
  readonly reaperEnabled?: boolean;
  /** How often the schedule starts a reaper. @default Duration.minutes(1) */
  readonly reaperInterval?: Duration;
  /** Shortest time between two sweeps of one reaper. @default Duration.millis(500) */
  readonly minSweepInterval?: Duration;
  /** What is logged; INFO has one line for each job. @default 'INFO' */
  readonly logLevel?: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR';
  /**
   * Whether wait and run time are measured for each job type: two custom metrics a type, $0.60 a month.
   * @default false
   */
  readonly metricsByType?: boolean;
  /**
   * Whether messages carry their `key` as SQS’s message group, so that no tenant’s backlog delays the others on Lambda.
   * @default false
   */
  readonly fair?: boolean;
  /** Whether events go to EventBridge. @default true */
  readonly eventsEnabled?: boolean;
  /** Types, separated by commas, whose jobs publish JobStarted; * means all. @default '' */
  readonly startedEvents?: string;
  /** Types, separated by commas, whose jobs publish JobDone; * means all. @default '' */
  readonly doneEvents?: string;
}
