import { decideCrash } from '../../protocol/decisions/decide-crash.ts';
import { crashError } from '../../protocol/job.ts';
import type { Death } from '../cells/cells.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { ClaimEndings, Ending } from './claim-endings.ts';
import { type HeldClaim, holdClaim, nameOf } from './held-claim.ts';
import { readClock } from './lease-clock.ts';
import { retryUntilLeaseEnds } from './retry-until-lease-ends.ts';

export type AfterDeath =
  | { readonly kind: 'again'; readonly held: HeldClaim }
  | { readonly kind: 'ended'; readonly ending: Ending };

/** The wait after the second death; doubles. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;

export function createRestarts(parts: WorkerParts, endings: ClaimEndings) {
  const { store, clock, clockCheck, random, settings, telemetry, cells, crashThrottle } = parts;

  /** `deaths` counts consecutive ones without progress. */
  const afterDeath = async (held: HeldClaim, death: Death, deaths: number): Promise<AfterDeath> => {
    const { job, stopping } = held;
    const diedAt = clock.now();
    const lastError = crashError(death.cause, death.crashedAlone);
    if (death.crashedAlone) crashThrottle.recordCrash(job);
    if (!held.lease.isHeld()) return ended('lost');
    const verdict = decideCrash(job, { chargedTo: death.crashedAlone ? 'crashes' : 'releases', settings });
    telemetry.warn('attempt crashed', {
      ...nameOf(job),
      cause: headline(death.cause),
      charged: death.crashedAlone,
    });
    if (verdict.kind === 'fail')
      return ended(await endings.quarantine(held, { ...verdict, lastError: verdict.reason ?? lastError }));
    if (deaths > 1 && !stopping.aborted) await clock.sleep(waitAfter(deaths), stopping).catch(() => {});
    const { crashes, releases } = verdict;
    const owner = `${parts.worker}/${random.unique()}`;
    const next = await restart(held, { owner, leaseMs: job.leaseMs, crashes, releases, lastError, diedAt });
    if (next.kind === 'ended') return next;
    telemetry.count('JobsRestarted');
    const cannotRun =
      stopping.aborted ||
      !cells.isUsable() ||
      crashThrottle.typePausedMs(job.type) + crashThrottle.hostPausedMs() > 0;
    if (!cannotRun) return next;
    const ending = await endings.release(next.held, 'shutdown', false);
    next.held.lease.end();
    return ended(ending);
  };

  const restart = async (held: HeldClaim, next: Parameters<typeof store.restart>[1]): Promise<AfterDeath> => {
    const sentAt = { latest: readClock(clock) };
    const restarting = async () => {
      if (!(await clockCheck.isSound())) throw new Error('this clock is too far from DynamoDB’s');
      sentAt.latest = readClock(clock);
      return store.restart(held.claim, next);
    };
    const answer = await retryUntilLeaseEnds(parts, held, restarting);
    if (answer === undefined) return ended('unknown');
    switch (answer.outcome) {
      case 'restarted': {
        // After a lost reply, the grant may be older than the last request.
        const wall = Math.min(sentAt.latest.wall, answer.job.startedAt);
        const grantedAt = { wall, monotonic: sentAt.latest.monotonic - (sentAt.latest.wall - wall) };
        return { kind: 'again', held: holdClaim(clock, answer.job, grantedAt, held.stopping, held.group) };
      }
      case 'withoutData':
        return ended(endings.dataMissing(answer.job, answer.error));
      case 'cancelRequested':
        return ended(await endings.cancel(held));
      case 'lost':
        telemetry.count('WritesFenced');
        return ended('lost');
    }
  };

  return afterDeath;
}

const waitAfter = (deaths: number): number => Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (deaths - 2));

const ended = (ending: Ending): AfterDeath => ({ kind: 'ended', ending });

const headline = (text: string): string => text.split('\n')[0] ?? '';
