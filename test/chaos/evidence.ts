import type { LeaseEntry } from '../../lib/protocol/job.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import type { JournalLine } from '../support/journal.ts';

/** Something that the run itself did, at a true time. */
export interface ChaosEvent {
  readonly at: number;
  readonly what: string;
  /** The process it was done to. */
  readonly pid?: number;
  readonly jobId?: string;
}

/** A time in which a process could not act. */
export interface Pause {
  readonly pid: number;
  readonly from: number;
  readonly to: number;
}

/** What a run left behind: all that the checker judges from. */
export interface Evidence {
  readonly settings: Settings;
  /** Ids of the jobs that SQS accepted. */
  readonly accepted: readonly string[];
  /** When an operator asked for a job's end, or took it from its worker. */
  readonly cancelled: ReadonlyMap<string, readonly number[]>;
  readonly takenBack: ReadonlyMap<string, readonly number[]>;
  readonly rows: readonly Row[];
  readonly index: readonly LeaseEntry[];
  readonly journal: readonly JournalLine[];
  readonly events: readonly ChaosEvent[];
  readonly pauses: readonly Pause[];
  /** Leases that stayed lapsed for longer than the bound after chaos ended. */
  readonly overdue: readonly string[];
}

/** A promise that was broken, and the job that shows it. */
export interface BrokenPromise {
  readonly jobId: string;
  readonly promise: string;
}
