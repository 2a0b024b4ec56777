import type { DeathKind } from './deaths.ts';

/** Settings under which a system is measured: as it comes, or with a ten-second lease and the quickest check it allows. */
export type Profile = 'default' | 'fast';

/** What a measured job does: nothing, wait, keep the processor busy for a while or for good, or kill its own process. */
export interface BenchJob {
  readonly id: string;
  readonly does: 'nothing' | 'sleep' | 'burn' | 'die' | 'spin';
  readonly ms: number;
  /** How it dies. @default 'SIGKILL' */
  readonly how?: DeathKind;
  /** A folder where it notes when it died: it dies once, and when it runs again it is done. @default - it dies always */
  readonly once?: string;
}

/** What has become of a job, in words that fit every system. `gone` is a row deleted on completion. */
export interface JobState {
  readonly status: 'waiting' | 'running' | 'done' | 'failed' | 'gone';
  /** The process id that the stored result names, where the system stores results. */
  readonly resultBy?: number;
  /** Crashes that were charged to it, where the system counts them. */
  readonly crashes?: number;
}

/** A running process of a system does one of these. */
type Mode =
  /** Runs jobs, and watches for stalled ones as the system's workers do. */
  | 'work'
  /** Takes `concurrency` jobs as a worker does and never ends them: to be killed. */
  | 'strand'
  /** Recovers stalled jobs and does nothing else. */
  | 'reap'
  /** Repeats one healthy operation of another queue on the same store, and notes how long each takes. */
  | 'bystand';

/** The argument of a system's process. */
export interface ProcessOrders {
  readonly mode: Mode;
  readonly queue: string;
  readonly profile: Profile;
  readonly concurrency: number;
  /** Parts of Leasehold's worker that are left out, to see what each is worth. */
  readonly without?: readonly ('reaper' | 'batches')[];
  /** Leasehold's settings besides those of the profile. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Where the stores are: each system knows its own keys. */
  readonly stores: Readonly<Record<string, string>>;
}

/** One system under measurement, running on its own store. */
export interface System {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly store: string;
  /** How each profile is set, for the report. */
  readonly settings: Readonly<Record<Profile, string>>;
  /** The program that `ProcessOrders` are given to. */
  readonly program: string;
  readonly stores: Readonly<Record<string, string>>;
  /** The lease, in ms, after which a dead worker's job may be given away. */
  readonly leaseMs: Readonly<Record<Profile, number>>;
  /** Whether a running job's lease is renewed at all. */
  readonly renews: Readonly<Record<Profile, boolean>>;
  /** Makes the queue ready for jobs. */
  prepare(queue: string, profile: Profile): Promise<void>;
  enqueue(queue: string, jobs: readonly BenchJob[]): Promise<void>;
  state(queue: string, id: string): Promise<JobState>;
  /** Its reaper tells how many jobs it took back: looking at the store meanwhile would hold up whoever uses it. */
  readonly tellsReclaims?: true;
  /** How many jobs of the queue a worker could take now. */
  waiting(queue: string): Promise<number>;
  /** Makes leases that began longer than `ms` ago end now, where the system's own are too long to wait for. */
  passTime?(queue: string, profile: Profile, ms: number): Promise<void>;
  /** Writes so many crashes onto a job's row. */
  charge?(queue: string, id: string, crashes: number): Promise<void>;
  /** Frees what a measured queue takes up, where it would weigh on the next measurement. */
  discard?(queue: string): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a system's store; a reason in its place says why it is skipped. */
export type StartSystem = (stores: Stores) => Promise<System | { readonly skipped: string }>;

/** Stores that several systems share, started when first asked for. */
export interface Stores {
  redis(): Promise<string | { readonly skipped: string }>;
  postgres(): Promise<string | { readonly skipped: string }>;
}

/** Job ids must be told apart across runs, and UUIDs are what pg-boss takes. */
export const jobId = (): string => crypto.randomUUID();
