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
import { type Announcements, createAnnouncements, type FinalEnd } from './announce-end.ts';
import { type HeldClaim, nameOf } from './held-claim.ts';
import { offer, pastLease } from './offer.ts';
import { sendHint } from './send-hint.ts';

/** How a run ended. `lost`: the lease was somebody else's. `unsaved`: the store did not answer, the lease will lapse. */
export type Ending = 'done' | 'retried' | 'failed' | 'released' | 'cancelled' | 'lost' | 'unsaved';

/**
 * The writes that end a claim. Each is offered for as long as the lease lasts, and for as long again: in an outage nobody may have taken the
 * job meanwhile, and then its end is worth more than a reclaim. The fence decides.
 */
export class Ends {
  readonly #parts: WorkerParts;
  readonly #announce: Announcements;

  constructor(parts: WorkerParts, outlet: Pick<EventOutlet, 'publish'>) {
    this.#parts = parts;
    this.#announce = createAnnouncements(parts, outlet);
  }

  /** Stores a result. */
  async complete(held: HeldClaim, result: string | undefined, late: boolean): Promise<Ending> {
    const { store } = this.#parts;
    const value = result === undefined ? undefined : (JSON.parse(result) as JsonValue);
    const end = await this.#settle(held, () => store.complete(held.claim, value), 'done');
    if (end === 'done') this.#announce.done(held, late);
    return end;
  }

  /** Charges an error: the job runs again after a wait, or fails for good. */
  async fail(held: HeldClaim, thrown: Thrown): Promise<Ending> {
    const { store, cells, clock, chance, settings, telemetry } = this.#parts;
    const { job } = held;
    const { backoff } = termsOf(cells.find(job.type), settings);
    const { retryable, text: lastError } = thrown;
    const now = clock.now();
    const verdict = decideFailure(job, { now, random: chance.random(), retryable, backoff, settings });
    telemetry.warn('attempt failed', { ...nameOf(job), next: verdict.kind, reason: thrown.loggable });
    const counts = { errors: verdict.errors, lastError };
    if (verdict.kind === 'fail') return this.#failForGood(held, counts);
    const { dispatch } = verdict;
    const end = await this.#settle(held, () => store.retry(held.claim, { ...counts, dispatch }), 'retried');
    if (end !== 'retried') return end;
    this.#announce.retried(held, counts, dispatch);
    await sendHint(this.#parts, job, dispatch);
    return end;
  }

  /** Tells of a job that the store failed when it was claimed. */
  lostItsData(job: RunningJob, error: Error): Ending {
    this.#announce.lostItsData(job, error);
    return 'failed';
  }

  /** Fails a job that may not crash once more. */
  quarantine(held: HeldClaim, end: Omit<FinalEnd, 'errors'>): Promise<Ending> {
    const { quarantined, crashes, releases, lastError } = end;
    return this.#failForGood(held, { errors: held.job.errors, quarantined, crashes, releases, lastError });
  }

  /** Hands the job on: at the invocation's deadline, or because this worker goes. `excuses` where its lease has lapsed. */
  release(
    held: HeldClaim,
    reason: 'deadline' | 'shutdown',
    progressed: boolean,
    excuses?: number,
  ): Promise<Ending> {
    return this.#release(held, this.#decideRelease(held, reason, progressed), { hints: true, excuses });
  }

  /** Puts an unstarted job back. Its message stays in hand or in the queue, so no hint is needed. */
  releaseUnstarted(held: HeldClaim): Promise<Ending> {
    return this.#release(held, this.#decideRelease(held, 'shutdown', false), { hints: false });
  }

  async cancel(held: HeldClaim): Promise<Ending> {
    const { store } = this.#parts;
    const end = await this.#settle(held, () => store.cancelRunning(held.claim), 'cancelled');
    if (end === 'cancelled') this.#announce.cancelled(held);
    return end;
  }

  #decideRelease({ job }: HeldClaim, reason: 'deadline' | 'shutdown', progressed: boolean): ReleaseVerdict {
    const { clock, settings } = this.#parts;
    return decideRelease(job, { now: clock.now(), reason, progressed, settings });
  }

  async #release(
    held: HeldClaim,
    verdict: ReleaseVerdict,
    { hints, excuses }: { readonly hints: boolean; readonly excuses?: number },
  ): Promise<Ending> {
    const { store, telemetry } = this.#parts;
    if (verdict.kind === 'fail')
      return this.#failForGood(held, { errors: verdict.errors, lastError: verdict.lastError });
    const end = await this.#settle(
      held,
      () => store.release(held.claim, { ...verdict, excuses }),
      'released',
    );
    if (end !== 'released') return end;
    telemetry.count('JobsReleased');
    if (hints) await sendHint(this.#parts, held.job, verdict.dispatch);
    return end;
  }

  async #failForGood(held: HeldClaim, end: FinalEnd): Promise<Ending> {
    const { quarantined: _, ...counts } = end;
    const ending = await this.#settle(held, () => this.#parts.store.fail(held.claim, counts), 'failed');
    if (ending === 'failed') this.#announce.failed(held, end);
    return ending;
  }

  /** Carries out one write; a refusal is counted. */
  async #settle(
    held: HeldClaim,
    write: () => Promise<FencedOutcome>,
    written: Exclude<Ending, 'lost' | 'unsaved'>,
  ): Promise<Ending> {
    const answer = await offer(this.#parts, held, write, pastLease(held));
    if (answer === undefined) return 'unsaved';
    if (answer.outcome === 'written') return written;
    this.#parts.telemetry.count('WritesFenced');
    return 'lost';
  }
}
