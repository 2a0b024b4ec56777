import { LeaseholdError } from '../wire/leasehold-error.ts';

/** Why a handler's `AbortSignal` fired, distinguished by class: `signal.reason instanceof ShuttingDown`. Throw to stop. */
export type AbortReason = LeaseLost | Cancelled | TimedOut | ShuttingDown;

/** The lease is gone, so this run can write nothing more. */
export class LeaseLost extends LeaseholdError {
  static override readonly name: string = 'LeaseLost';
  static override readonly code = 'LEASE_LOST';
  readonly how: 'lapsed' | 'refused' | 'ended';

  constructor(how: 'lapsed' | 'refused' | 'ended') {
    const messages = {
      lapsed: 'the lease ran out before a heartbeat renewed it',
      refused: 'the store refused a write: the job is no longer this worker’s',
      ended: 'this run of the job has already ended',
    };
    super(LeaseLost.code, `${messages[how]}; stop, and leave the job to its next holder`);
    this.how = how;
  }
}

/** An operator cancelled the job. */
export class Cancelled extends LeaseholdError {
  static override readonly name: string = 'Cancelled';
  static override readonly code = 'CANCELLED';

  constructor() {
    super(Cancelled.code, 'an operator cancelled this job; clean up, and stop');
  }
}

export type TimeoutKind = 'overrun' | 'silent';

/** The handler exceeded a limit of its type. */
export class TimedOut extends LeaseholdError {
  static override readonly name: string = 'TimedOut';
  static override readonly code = 'TIMED_OUT';
  readonly kind: TimeoutKind;
  readonly limitMs: number;

  constructor(kind: TimeoutKind, limitMs: number) {
    const messages = {
      overrun: `the attempt is older than maxRunMs (${limitMs} ms); checkpoint and do less in one run, or raise maxRunMs`,
      silent: `no progress was reported for progressTimeoutMs (${limitMs} ms); report it more often, or raise progressTimeoutMs`,
    };
    super(TimedOut.code, messages[kind]);
    this.kind = kind;
    this.limitMs = limitMs;
  }
}

/** The host is stopping: save a checkpoint and throw; another worker continues from there. */
export class ShuttingDown extends LeaseholdError {
  static override readonly name: string = 'ShuttingDown';
  static override readonly code = 'SHUTTING_DOWN';
  readonly why: 'deadline' | 'shutdown';

  constructor(why: 'deadline' | 'shutdown') {
    super(
      ShuttingDown.code,
      why === 'deadline'
        ? 'the invocation is near its deadline; save a checkpoint and stop, and the next invocation continues the job'
        : 'the worker is shutting down; save a checkpoint and stop, and another worker continues the job',
    );
    this.why = why;
  }
}
