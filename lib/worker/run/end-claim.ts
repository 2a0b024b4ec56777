import {
  decideFailure,
  decideRelease,
  type ReleaseVerdict,
} from '../../protocol/decisions/decide-failure.ts';
import type { Dispatch } from '../../protocol/decisions/dispatch.ts';
import { NonRetryableError } from '../../protocol/errors.ts';
import type { Claim, RunningJob } from '../../protocol/job.ts';
import type { FencedOutcome } from '../../protocol/ports.ts';
import type { LeaseholdEvent } from '../../wire/events.ts';
import type { JsonValue } from '../../wire/message.ts';
import { describeError, loggableError } from '../cells/describe-error.ts';
import { termsOf } from '../registry.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { LeaseClock } from './lease-clock.ts';
import { sendHint } from './send-hint.ts';

/** How a run ended. `lost`: the lease was somebody else's. `unsaved`: the store did not answer, the lease will lapse. */
export type Ending = 'done' | 'retried' | 'failed' | 'released' | 'cancelled' | 'lost' | 'unsaved';

/** A claim that this worker holds, with its job and its lease. */
export interface HeldClaim {
  readonly job: RunningJob;
  readonly claim: Claim;
  readonly lease: LeaseClock;
}

/** First wait before a result is offered again to a store that did not answer; doubles each time. */
const REPEAT_MS = 100;

/** The writes that end a claim. Each is offered once, and the fence decides. */
export function createEnds(parts: WorkerParts) {
  const { store, clock, chance, settings, telemetry, events } = parts;

  /** Carries out one write; a refusal is counted, a store that does not answer is logged, and the lease then lapses. */
  const settle = async (
    { job }: HeldClaim,
    write: () => Promise<FencedOutcome>,
    written: Exclude<Ending, 'lost' | 'unsaved'>,
  ): Promise<Ending> => {
    try {
      const { outcome } = await write();
      if (outcome === 'written') return written;
      telemetry.count('WritesFenced');
      return 'lost';
    } catch (error) {
      telemetry.error('the end of a run could not be stored; its lease will lapse', error, nameOf(job));
      return 'unsaved';
    }
  };

  /** The row is written already: how its run ended does not depend on who can be told. */
  const publish = (event: LeaseholdEvent): Promise<void> =>
    events
      .publish([event])
      .catch((error: unknown) => telemetry.error('event not published', error, { name: event.name }));

  const failForGood = async (held: HeldClaim, errors: number, lastError: string): Promise<Ending> => {
    const end = await settle(held, () => store.fail(held.claim, { errors, lastError }), 'failed');
    if (end === 'failed') {
      telemetry.count('JobsFailed');
      const detail = { ...detailOf(held.job), errors, lastError, at: clock.now() };
      await publish({ name: 'JobFailed', detail });
    }
    return end;
  };

  const release = async (
    held: HeldClaim,
    verdict: ReleaseVerdict,
    hint: (jobId: string, dispatch: Dispatch) => Promise<void>,
  ): Promise<Ending> => {
    if (verdict.kind === 'fail') return failForGood(held, verdict.errors, verdict.lastError);
    const end = await settle(held, () => store.release(held.claim, verdict), 'released');
    if (end === 'released') {
      telemetry.count('JobsReleased');
      await hint(held.job.jobId, verdict.dispatch);
    }
    return end;
  };

  return {
    /** Offers a result. A store that does not answer is asked again while the lease lasts: the work is done. */
    async complete(held: HeldClaim, result: JsonValue | undefined, late: boolean): Promise<Ending> {
      for (let wait = REPEAT_MS; ; wait *= 2) {
        const end = await settle(held, () => store.complete(held.claim, result), 'done');
        if (end === 'done') {
          telemetry.count('JobsDone');
          if (late) telemetry.count('LateCompletions');
        }
        if (end !== 'unsaved' || held.lease.remainingMs() <= wait) return end;
        await clock.sleep(wait * (1 + chance.random()));
      }
    },

    /** Charges an error: the job runs again after a wait, or fails for good. */
    async fail(held: HeldClaim, thrown: unknown): Promise<Ending> {
      const { job } = held;
      const lastError = describeError(thrown);
      const verdict = decideFailure(job, {
        now: clock.now(),
        random: chance.random(),
        retryable: !(thrown instanceof NonRetryableError),
        backoff: termsOf(parts.registry.find(job.type), settings).backoff,
        settings,
      });
      telemetry.warn('attempt failed', {
        ...nameOf(job),
        next: verdict.kind,
        reason: loggableError(thrown),
      });
      const { errors } = verdict;
      if (verdict.kind === 'fail') return failForGood(held, errors, lastError);
      const { dispatch } = verdict;
      const end = await settle(
        held,
        () => store.retry(held.claim, { errors, lastError, dispatch }),
        'retried',
      );
      if (end !== 'retried') return end;
      telemetry.count('JobsRetried');
      const { notBefore } = dispatch;
      await Promise.all([
        sendHint(parts, job.jobId, dispatch),
        publish({
          name: 'JobRetried',
          detail: { ...detailOf(job), errors, lastError, notBefore, at: clock.now() },
        }),
      ]);
      return end;
    },

    /** Hands the job on: at the invocation's deadline, or because this worker goes. */
    release: (held: HeldClaim, reason: 'deadline' | 'shutdown', progressed: boolean): Promise<Ending> =>
      release(
        held,
        decideRelease(held.job, { now: clock.now(), reason, progressed, settings }),
        (jobId, dispatch) => sendHint(parts, jobId, dispatch),
      ),

    /** Puts an unstarted job back, for a message that stays in hand or in the queue: no hint is needed. */
    releaseUnstarted: (held: HeldClaim): Promise<Ending> =>
      release(
        held,
        decideRelease(held.job, { now: clock.now(), reason: 'shutdown', progressed: false, settings }),
        async () => {},
      ),

    async cancel(held: HeldClaim): Promise<Ending> {
      const end = await settle(held, () => store.cancelRunning(held.claim), 'cancelled');
      if (end === 'cancelled') telemetry.count('JobsCancelled');
      return end;
    },
  };
}

export const nameOf = ({ jobId, type, attempt }: RunningJob) => ({ jobId, type, attempt });

const detailOf = ({ jobId, type, attempt, crashes, releases, leaseOwner }: RunningJob) => ({
  jobId,
  type,
  attempt,
  crashes,
  releases,
  leaseOwner,
});
