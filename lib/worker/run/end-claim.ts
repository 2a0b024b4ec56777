import {
  decideFailure,
  decideRelease,
  type ReleaseVerdict,
} from '../../protocol/decisions/decide-failure.ts';
import type { Dispatch } from '../../protocol/decisions/dispatch.ts';
import type { EventOutlet } from '../../protocol/event-outlet.ts';
import type { RunningJob } from '../../protocol/job.ts';
import type { FencedOutcome } from '../../protocol/ports.ts';
import { eventDetailOf, namesType } from '../../wire/events.ts';
import type { JsonValue } from '../../wire/message.ts';
import type { Thrown } from '../cells/thrown.ts';
import { termsOf } from '../registry.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { type HeldClaim, nameOf } from './held-claim.ts';
import { offer } from './offer.ts';
import { sendHint } from './send-hint.ts';

/** How a run ended. `lost`: the lease was somebody else's. `unsaved`: the store did not answer, the lease will lapse. */
export type Ending = 'done' | 'retried' | 'failed' | 'released' | 'cancelled' | 'lost' | 'unsaved';

export type Ends = ReturnType<typeof createEnds>;

/** The writes that end a claim. Each is offered for as long as the lease lasts, and the fence decides. */
export function createEnds(parts: WorkerParts, outlet: Pick<EventOutlet, 'publish'>) {
  const { store, clock, chance, settings, telemetry } = parts;

  /** Carries out one write; a refusal is counted. */
  const settle = async (
    held: HeldClaim,
    write: () => Promise<FencedOutcome>,
    written: Exclude<Ending, 'lost' | 'unsaved'>,
  ): Promise<Ending> => {
    const answer = await offer(parts, held, write);
    if (answer === undefined) return 'unsaved';
    if (answer.outcome === 'written') return written;
    telemetry.count('WritesFenced');
    return 'lost';
  };

  const failForGood = async (held: HeldClaim, end: FinalEnd): Promise<Ending> => {
    const { quarantined = false, ...counts } = end;
    const ending = await settle(held, () => store.fail(held.claim, counts), 'failed');
    if (ending !== 'failed') return ending;
    telemetry.count('JobsFailed');
    if (quarantined) telemetry.count('JobsQuarantined');
    const { crashes = held.job.crashes, releases = held.job.releases } = counts;
    const detail = { ...eventDetailOf(held.job), ...counts, crashes, releases, at: clock.now() };
    outlet.publish([{ name: 'JobFailed', detail }]);
    if (quarantined) outlet.publish([{ name: 'JobQuarantined', detail }]);
    return ending;
  };

  const release = async (
    held: HeldClaim,
    verdict: ReleaseVerdict,
    hint: (dispatch: Dispatch) => Promise<void>,
  ): Promise<Ending> => {
    if (verdict.kind === 'fail')
      return failForGood(held, { errors: verdict.errors, lastError: verdict.lastError });
    const end = await settle(held, () => store.release(held.claim, verdict), 'released');
    if (end === 'released') {
      telemetry.count('JobsReleased');
      await hint(verdict.dispatch);
    }
    return end;
  };

  return {
    /** Stores a result. */
    async complete(held: HeldClaim, result: string | undefined, late: boolean): Promise<Ending> {
      const value = result === undefined ? undefined : (JSON.parse(result) as JsonValue);
      const end = await settle(held, () => store.complete(held.claim, value), 'done');
      if (end === 'done') telemetry.count('JobsDone');
      if (end === 'done' && late) telemetry.count('LateCompletions');
      if (end === 'done' && namesType(settings.doneEvents, held.job.type)) {
        const durationMs = Math.round(clock.monotonic() - held.startedAt);
        outlet.publish([
          { name: 'JobDone', detail: { ...eventDetailOf(held.job), durationMs, at: clock.now() } },
        ]);
      }
      return end;
    },

    /** Charges an error: the job runs again after a wait, or fails for good. */
    async fail(held: HeldClaim, thrown: Thrown): Promise<Ending> {
      const { job } = held;
      const lastError = thrown.text;
      const verdict = decideFailure(job, {
        now: clock.now(),
        random: chance.random(),
        retryable: thrown.retryable,
        backoff: termsOf(parts.cells.find(job.type), settings).backoff,
        settings,
      });
      telemetry.warn('attempt failed', { ...nameOf(job), next: verdict.kind, reason: thrown.loggable });
      const { errors } = verdict;
      if (verdict.kind === 'fail') return failForGood(held, { errors, lastError });
      const { dispatch } = verdict;
      const retry = () => store.retry(held.claim, { errors, lastError, dispatch });
      const end = await settle(held, retry, 'retried');
      if (end !== 'retried') return end;
      telemetry.count('JobsRetried');
      const { notBefore } = dispatch;
      const detail = { ...eventDetailOf(job), errors, lastError, notBefore, at: clock.now() };
      outlet.publish([{ name: 'JobRetried', detail }]);
      await sendHint(parts, job, dispatch);
      return end;
    },

    /** Tells of a job that the store failed when it was claimed. */
    lostItsData(job: RunningJob, error: Error): Ending {
      telemetry.error('job failed, because its data is gone', error, nameOf(job));
      telemetry.count('JobsFailed');
      const detail = { ...eventDetailOf(job), lastError: error.message, at: clock.now() };
      outlet.publish([{ name: 'JobFailed', detail }]);
      return 'failed';
    },

    /** Fails a job that may not crash once more. */
    quarantine: (held: HeldClaim, end: Omit<FinalEnd, 'errors'>): Promise<Ending> => {
      const { quarantined, crashes, releases, lastError } = end;
      return failForGood(held, { errors: held.job.errors, quarantined, crashes, releases, lastError });
    },

    /** Hands the job on: at the invocation's deadline, or because this worker goes. */
    release: (held: HeldClaim, reason: 'deadline' | 'shutdown', progressed: boolean): Promise<Ending> =>
      release(held, decideRelease(held.job, { now: clock.now(), reason, progressed, settings }), (dispatch) =>
        sendHint(parts, held.job, dispatch),
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
      if (end !== 'cancelled') return end;
      telemetry.count('JobsCancelled');
      outlet.publish([{ name: 'JobCancelled', detail: { ...eventDetailOf(held.job), at: clock.now() } }]);
      return end;
    },
  };
}

/** How a job failed for good. */
interface FinalEnd {
  readonly errors: number;
  readonly crashes?: number;
  readonly releases?: number;
  readonly lastError: string;
  readonly quarantined?: boolean;
}
