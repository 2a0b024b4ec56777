import { NonRetryableError } from '../../protocol/errors.ts';
import { claimOf, type RunningJob } from '../../protocol/job.ts';
import { Cancelled, LeaseLost, ShuttingDown, TimedOut } from '../abort-reasons.ts';
import { type CheckedPayload, handlerJobOf } from '../cells/handler-job.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { createEnds, type Ending, type HeldClaim, nameOf } from './end-claim.ts';
import { type ClockReading, createLeaseClock } from './lease-clock.ts';
import { type RunBounds, type Supervised, supervise } from './supervise.ts';

/** A job that this worker has claimed. */
export interface ClaimedJob {
  readonly job: RunningJob;
  /** When the claim was sent: the lease runs from there. */
  readonly sentAt: ClockReading;
  /** What the schema made of the message's payload, which is the row's unless an earlier message came first. */
  readonly checked?: CheckedPayload;
}

export interface ClaimRunner {
  /** Runs one claimed job to its end, tells of it, and says how it ended. */
  run(claimed: ClaimedJob, bounds: RunBounds): Promise<Ending>;
  /** Puts a claimed job back that was not started; its message is still in hand or in the queue. */
  releaseUnstarted(claimed: ClaimedJob): Promise<Ending>;
}

/** Runs claimed jobs, each under its lease, and stores how they ended. */
export function createClaimRunner(parts: WorkerParts): ClaimRunner {
  const { clock, telemetry } = parts;
  const ends = createEnds(parts);

  const heldBy = ({ job, sentAt }: ClaimedJob): HeldClaim => ({
    job,
    claim: claimOf(job),
    lease: createLeaseClock(clock, sentAt, job.leaseMs),
  });

  const runUnder = async (held: HeldClaim, claimed: ClaimedJob, bounds: RunBounds): Promise<Ending> => {
    const view = await handlerJobOf(parts, claimed.job, claimed.checked).catch((error: Error) => ({
      ok: false as const,
      error,
    }));
    if (!view.ok) return ends.fail(held, view.error);
    const work = { definition: view.definition, view: view.job, startedAt: claimed.sentAt.monotonic };
    return end(held, await supervise(parts, held, work, bounds));
  };

  /** A result always counts as one; only what was thrown, or never came, is read by the reason of the abort. */
  const end = async (held: HeldClaim, run: Supervised): Promise<Ending> => {
    const { outcome, reason, progressed } = run;
    const lost = reason instanceof LeaseLost || !held.lease.isHeld();
    if (outcome.kind === 'returned') return ends.complete(held, outcome.result, lost);
    if (outcome.kind === 'abandoned')
      telemetry.warn('handler ignored its signal and was left behind', {
        ...nameOf(held.job),
        signal: reason?.code,
      });
    if (lost) return 'lost';
    if (reason instanceof Cancelled) return ends.cancel(held);
    const error = outcome.kind === 'threw' ? outcome.error : reason;
    if (error instanceof NonRetryableError) return ends.fail(held, error);
    if (reason instanceof ShuttingDown) return ends.release(held, reason.why, progressed);
    return ends.fail(held, reason instanceof TimedOut ? reason : error);
  };

  return {
    async run(claimed, bounds) {
      const held = heldBy(claimed);
      const ending = await runUnder(held, claimed, bounds).catch((error: unknown): Ending => {
        telemetry.error('run broke off; its lease will lapse', error, nameOf(claimed.job));
        return 'unsaved';
      });
      held.lease.end();
      if (ending === 'lost') telemetry.count('LeasesLost');
      telemetry.info('run ended', {
        ...nameOf(claimed.job),
        outcome: ending,
        durationMs: Math.round(clock.monotonic() - claimed.sentAt.monotonic),
      });
      return ending;
    },
    releaseUnstarted: (claimed) => ends.releaseUnstarted(heldBy(claimed)),
  };
}
