import type { Job, OperatorAct } from '../protocol/job.ts';
import { counted } from '../tools/inspect/counted.ts';
import { whyRefused } from '../tools/inspect/why-refused.ts';
import { formatDollars } from '../tools/plan/format-dollars.ts';
import { LeaseholdError } from '../wire/leasehold-error.ts';
import { quoted } from '../wire/message.ts';
import { type JobRecord, recordOf } from './job-record.ts';
import type { UnknownJob } from './look-up.ts';
import type { ScanCost } from './scan-cost.ts';

/** The awaited job failed for good. */
export class JobFailedError extends LeaseholdError {
  static override readonly name: string = 'JobFailedError';
  static override readonly code = 'JOB_FAILED';
  readonly job: JobRecord;

  constructor(job: Job) {
    const why = job.lastError ?? 'its row does not say why';
    super(
      JobFailedError.code,
      `job '${job.jobId}' of type '${job.type}' failed after ${counted(job.attempt, 'attempt')}: ${why}. See 'leasehold show ${job.jobId}'`,
    );
    this.job = recordOf(job);
  }
}

/** The awaited job was cancelled. */
export class JobCancelledError extends LeaseholdError {
  static override readonly name: string = 'JobCancelledError';
  static override readonly code = 'JOB_CANCELLED';
  readonly job: JobRecord;

  constructor(job: Job) {
    super(
      JobCancelledError.code,
      `job '${job.jobId}' of type '${job.type}' was cancelled; revive it to run it after all`,
    );
    this.job = recordOf(job);
  }
}

/** The job did not end in time; it continues. */
export class WaitTimedOutError extends LeaseholdError {
  static override readonly name: string = 'WaitTimedOutError';
  static override readonly code = 'WAIT_TIMED_OUT';
  readonly job: JobRecord | UnknownJob;

  constructor(job: Job | UnknownJob, timeoutMs: number) {
    const state = job.status === 'unknown' ? job.message : `it is ${job.status}, attempt ${job.attempt}`;
    super(
      WaitTimedOutError.code,
      `job '${job.jobId}' has not ended within ${timeoutMs} ms: ${state}. It continues; wait again, or cancel it`,
    );
    this.job = job.status === 'unknown' ? job : recordOf(job);
  }
}

/** No row has this ID, so nothing changed. */
export class JobNotFoundError extends LeaseholdError {
  static override readonly name: string = 'JobNotFoundError';
  static override readonly code = 'JOB_NOT_FOUND';
  readonly job: UnknownJob;

  constructor(job: UnknownJob) {
    super(JobNotFoundError.code, job.message);
    this.job = job;
  }
}

/** The job's status does not allow the action, so nothing changed. */
export class ActRefusedError extends LeaseholdError {
  static override readonly name: string = 'ActRefusedError';
  static override readonly code = 'ACT_REFUSED';
  readonly job: JobRecord;

  constructor(act: OperatorAct['act'], job: Job) {
    super(ActRefusedError.code, `job '${job.jobId}': ${whyRefused(act, job)}`);
    this.job = recordOf(job);
  }
}

/** Only a scan of the whole table finds these jobs. Nothing was read. */
export class ScanNeededError extends LeaseholdError {
  static override readonly name: string = 'ScanNeededError';
  static override readonly code = 'SCAN_NEEDED';
  readonly cost: ScanCost;

  constructor(status: string, cost: ScanCost) {
    super(
      ScanNeededError.code,
      `no index holds ${status} jobs: listing them reads the whole table, about ${counted(cost.rows, 'row')}, ${counted(cost.readUnits, 'read unit')}, ${formatDollars(cost.dollars)}. Ask for it with scan: true`,
    );
    this.cost = cost;
  }
}

/** Invalid arguments; nothing was done. */
export class BadRequestError extends LeaseholdError {
  static override readonly name: string = 'BadRequestError';
  static override readonly code = 'BAD_REQUEST';

  constructor(what: string, value: unknown, allowed: string) {
    super(BadRequestError.code, `${what} is ${quoted(value)}; it must be ${allowed}`);
  }
}
