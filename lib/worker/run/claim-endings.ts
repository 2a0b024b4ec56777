import { decideFailure, decideRelease } from '../../protocol/decisions/decide-failure.ts';
import type { EventOutlet } from '../../protocol/event-outlet.ts';
import type { FailedEnd, RunningJob } from '../../protocol/job.ts';
import type { FencedOutcome } from '../../protocol/ports.ts';
import { eventDetailOf, namesType } from '../../wire/events.ts';
import type { HandlerEnd } from '../cells/cells.ts';
import { termsOf } from '../registry.ts';
import type { Thrown } from '../thrown.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { parsed } from './checkpoint-writer.ts';
import { type HeldClaim, nameOf } from './held-claim.ts';
import { prepareLeave } from './leave-group.ts';
import { oneMoreLease, retryUntilLeaseEnds } from './retry-until-lease-ends.ts';
import { sendHint } from './send-hint.ts';

/** `lost`: another worker holds the lease. `unknown`: the store did not answer, so the lease will lapse. */
export type Ending = 'done' | 'retried' | 'failed' | 'released' | 'cancelled' | 'lost' | 'unknown';

type Returned = Extract<HandlerEnd, { kind: 'returned' }>;

type FinalEnd = FailedEnd & { readonly quarantined?: boolean };

export type ClaimEndings = ReturnType<typeof createClaimEndings>;

/** Retries a handler's outcome for one lease beyond the lease's end, because an unstored job runs again. */
export function createClaimEndings(parts: WorkerParts, outlet: Pick<EventOutlet, 'publish'>) {
  const { store, cells, clock, random, settings, telemetry } = parts;

  const detailOf = (job: RunningJob) => ({ ...eventDetailOf(job), at: clock.now() });

  const settle = async (
    held: HeldClaim,
    write: () => Promise<FencedOutcome>,
    written: Exclude<Ending, 'lost' | 'unknown'>,
    beyondMs?: () => number,
  ): Promise<Ending> => {
    const leave = held.group && written !== 'released' ? prepareLeave(parts, held.group) : undefined;
    const answer = await retryUntilLeaseEnds(parts, held, write, beyondMs);
    if (answer === undefined) return 'unknown';
    if (answer.outcome === 'written') {
      await leave?.(held.claim);
      return written;
    }
    telemetry.count('WritesFenced');
    return 'lost';
  };

  const failForGood = async (
    held: HeldClaim,
    end: FinalEnd,
    { announced = end, beyondMs }: { readonly announced?: FinalEnd; readonly beyondMs?: () => number } = {},
  ): Promise<Ending> => {
    const { quarantined, ...counts } = end;
    const ending = await settle(held, () => store.fail(held.claim, counts), 'failed', beyondMs);
    if (ending !== 'failed') return ending;
    telemetry.count('JobsFailed');
    const { crashes = held.job.crashes, releases = held.job.releases } = counts;
    const { errors, lastError } = announced;
    const detail = { ...detailOf(held.job), errors, lastError, crashes, releases };
    outlet.publish([{ name: 'JobFailed', detail }]);
    if (!quarantined) return ending;
    telemetry.count('JobsQuarantined');
    outlet.publish([{ name: 'JobQuarantined', detail }]);
    return ending;
  };

  return {
    async complete(held: HeldClaim, returned: Returned, late: boolean): Promise<Ending> {
      const result = parsed(returned.result);
      const progress = parsed(returned.progress);
      const complete = () => store.complete(held.claim, result, progress);
      const end = await settle(held, complete, 'done', oneMoreLease(held));
      if (end !== 'done') return end;
      telemetry.count('JobsDone');
      if (late) telemetry.count('LateCompletions');
      const durationMs = Math.round(clock.monotonic() - held.startedAt);
      if (namesType(settings.doneEvents, held.job.type))
        outlet.publish([{ name: 'JobDone', detail: { ...detailOf(held.job), durationMs } }]);
      return end;
    },

    async fail(held: HeldClaim, thrown: Thrown): Promise<Ending> {
      const { job } = held;
      const { backoff } = termsOf(cells.find(job.type), settings);
      const { retryable, retryAfterMs: waitMs, text: lastError } = thrown;
      const verdict = decideFailure(job, {
        now: clock.now(),
        random: random.next(),
        retryable,
        backoff,
        waitMs,
        settings,
      });
      telemetry.warn('attempt failed', { ...nameOf(job), next: verdict.kind, reason: thrown.loggable });
      const counts = { errors: verdict.errors, lastError };
      const announced = thrown.quotesPayload ? { ...counts, lastError: thrown.loggable } : counts;
      if (verdict.kind === 'fail')
        return failForGood(held, counts, { announced, beyondMs: oneMoreLease(held) });
      const { dispatch } = verdict;
      const retry = () => store.retry(held.claim, { ...counts, dispatch });
      const end = await settle(held, retry, 'retried', oneMoreLease(held));
      if (end !== 'retried') return end;
      telemetry.count('JobsRetried');
      const detail = { ...detailOf(job), ...announced, notBefore: dispatch.notBefore };
      outlet.publish([{ name: 'JobRetried', detail }]);
      await sendHint(parts, job, dispatch);
      return end;
    },

    dataMissing(job: RunningJob, error: Error): Ending {
      telemetry.error('job failed, because its data is gone', error, nameOf(job));
      telemetry.count('JobsFailed');
      outlet.publish([{ name: 'JobFailed', detail: { ...detailOf(job), lastError: error.message } }]);
      return 'failed';
    },

    quarantine(held: HeldClaim, end: Omit<FinalEnd, 'errors'>): Promise<Ending> {
      const { quarantined, crashes, releases, lastError } = end;
      return failForGood(held, { errors: held.job.errors, quarantined, crashes, releases, lastError });
    },

    async release(held: HeldClaim, reason: 'deadline' | 'shutdown', progressed: boolean): Promise<Ending> {
      const verdict = decideRelease(held.job, { now: clock.now(), reason, progressed, settings });
      if (verdict.kind === 'fail')
        return failForGood(held, { errors: verdict.errors, lastError: verdict.lastError });
      const end = await settle(held, () => store.release(held.claim, verdict), 'released');
      if (end !== 'released') return end;
      telemetry.count('JobsReleased');
      await sendHint(parts, held.job, verdict.dispatch);
      return end;
    },

    async cancel(held: HeldClaim): Promise<Ending> {
      const end = await settle(held, () => store.cancelRunning(held.claim), 'cancelled');
      if (end !== 'cancelled') return end;
      telemetry.count('JobsCancelled');
      outlet.publish([{ name: 'JobCancelled', detail: detailOf(held.job) }]);
      return end;
    },
  };
}
