import {
  decideFailure,
  decideRelease,
  type ReleaseVerdict,
} from '../../protocol/decisions/decide-failure.ts';
import type { EventOutlet } from '../../protocol/event-outlet.ts';
import type { RunningJob } from '../../protocol/job.ts';
import type { FencedOutcome } from '../../protocol/ports.ts';
import type { JsonValue } from '../../wire/message.ts';
import type { Thrown } from '../cells/thrown.ts';
import { termsOf } from '../registry.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { createAnnouncements, type FinalEnd } from './announce-end.ts';
import { type HeldClaim, nameOf } from './held-claim.ts';
import { offer } from './offer.ts';
import { sendHint } from './send-hint.ts';

/** How a run ended. `lost`: the lease was somebody else's. `unsaved`: the store did not answer, the lease will lapse. */
export type Ending = 'done' | 'retried' | 'failed' | 'released' | 'cancelled' | 'lost' | 'unsaved';

export type Ends = ReturnType<typeof createEnds>;

/** The writes that end a claim. Each is offered for as long as the lease lasts, and the fence decides. */
export function createEnds(parts: WorkerParts, outlet: Pick<EventOutlet, 'publish'>) {
  const { store, clock, chance, settings, telemetry } = parts;
  const announce = createAnnouncements(parts, outlet);
  const settle = createSettle(parts);

  const failForGood = async (held: HeldClaim, end: FinalEnd): Promise<Ending> => {
    const { quarantined: _, ...counts } = end;
    const ending = await settle(held, () => store.fail(held.claim, counts), 'failed');
    if (ending === 'failed') announce.failed(held, end);
    return ending;
  };

  /** For a message that stays in hand or in the queue, no hint is needed. */
  const release = async (held: HeldClaim, verdict: ReleaseVerdict, needsHint: boolean): Promise<Ending> => {
    if (verdict.kind === 'fail')
      return failForGood(held, { errors: verdict.errors, lastError: verdict.lastError });
    const end = await settle(held, () => store.release(held.claim, verdict), 'released');
    if (end !== 'released') return end;
    telemetry.count('JobsReleased');
    if (needsHint) await sendHint(parts, held.job, verdict.dispatch);
    return end;
  };
  const releaseVerdict = ({ job }: HeldClaim, reason: 'deadline' | 'shutdown', progressed: boolean) =>
    decideRelease(job, { now: clock.now(), reason, progressed, settings });

  return {
    /** Stores a result. */
    async complete(held: HeldClaim, result: string | undefined, late: boolean): Promise<Ending> {
      const value = result === undefined ? undefined : (JSON.parse(result) as JsonValue);
      const end = await settle(held, () => store.complete(held.claim, value), 'done');
      if (end === 'done') announce.done(held, late);
      return end;
    },

    /** Charges an error: the job runs again after a wait, or fails for good. */
    async fail(held: HeldClaim, thrown: Thrown): Promise<Ending> {
      const { job } = held;
      const { backoff } = termsOf(parts.cells.find(job.type), settings);
      const { retryable, text: lastError } = thrown;
      const now = clock.now();
      const verdict = decideFailure(job, { now, random: chance.random(), retryable, backoff, settings });
      telemetry.warn('attempt failed', { ...nameOf(job), next: verdict.kind, reason: thrown.loggable });
      const counts = { errors: verdict.errors, lastError };
      if (verdict.kind === 'fail') return failForGood(held, counts);
      const { dispatch } = verdict;
      const end = await settle(held, () => store.retry(held.claim, { ...counts, dispatch }), 'retried');
      if (end !== 'retried') return end;
      announce.retried(held, counts, dispatch);
      await sendHint(parts, job, dispatch);
      return end;
    },

    /** Tells of a job that the store failed when it was claimed. */
    lostItsData(job: RunningJob, error: Error): Ending {
      announce.lostItsData(job, error);
      return 'failed';
    },

    /** Fails a job that may not crash once more. */
    quarantine: (held: HeldClaim, end: Omit<FinalEnd, 'errors'>): Promise<Ending> => {
      const { quarantined, crashes, releases, lastError } = end;
      return failForGood(held, { errors: held.job.errors, quarantined, crashes, releases, lastError });
    },

    /** Hands the job on: at the invocation's deadline, or because this worker goes. */
    release: (held: HeldClaim, reason: 'deadline' | 'shutdown', progressed: boolean): Promise<Ending> =>
      release(held, releaseVerdict(held, reason, progressed), true),

    /** Puts an unstarted job back. */
    releaseUnstarted: (held: HeldClaim): Promise<Ending> =>
      release(held, releaseVerdict(held, 'shutdown', false), false),

    async cancel(held: HeldClaim): Promise<Ending> {
      const end = await settle(held, () => store.cancelRunning(held.claim), 'cancelled');
      if (end === 'cancelled') announce.cancelled(held);
      return end;
    },
  };
}

/** Carries out one write; a refusal is counted. */
const createSettle =
  (parts: WorkerParts) =>
  async (
    held: HeldClaim,
    write: () => Promise<FencedOutcome>,
    written: Exclude<Ending, 'lost' | 'unsaved'>,
  ): Promise<Ending> => {
    const answer = await offer(parts, held, write);
    if (answer === undefined) return 'unsaved';
    if (answer.outcome === 'written') return written;
    parts.telemetry.count('WritesFenced');
    return 'lost';
  };
