import { decideCrash } from '../../protocol/decisions/decide-crash.ts';
import { claimOf } from '../../protocol/job.ts';
import type { Death } from '../cells/cells.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { Ending, Ends } from './end-claim.ts';
import { type HeldClaim, nameOf } from './held-claim.ts';
import { LeaseClock, readClock } from './lease-clock.ts';
import { offer, pastLease } from './offer.ts';
import type { RunBounds } from './supervise.ts';

export type AfterDeath =
  | { readonly kind: 'again'; readonly held: HeldClaim }
  | { readonly kind: 'ended'; readonly ending: Ending };

interface Circumstances {
  /** In a row without progress, this one included. */
  readonly deaths: number;
  readonly bounds: RunBounds;
  /** Whether the run that ended stored a checkpoint that differs from the one it found. */
  readonly progressed: boolean;
}

interface Restart {
  readonly crashes: number;
  readonly releases: number;
  readonly lastError: string;
  readonly diedAt: number;
}

/** The first death costs no wait; the second one this long, doubled for each that follows. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;

/** What becomes of a job whose cell died while its host still holds the lease. */
export function createRestarts(parts: WorkerParts, ends: Ends) {
  const { store, clock, chance, settings, telemetry, cells, brake } = parts;

  const afterDeath = async (
    held: HeldClaim,
    death: Death,
    { deaths, bounds, progressed }: Circumstances,
  ): Promise<AfterDeath> => {
    const { job } = held;
    const diedAt = clock.now();
    const lastError = `crashed: ${death.cause}`;
    if (death.isToBlame) brake.convicted(job);
    // One that lapsed while the store gave no answer may be nobody's yet.
    if (!held.lease.isHeld() && !held.lease.wasUnanswered()) return ended('lost');
    // A new place in between shows that the deaths before it were not in vain: they count as releases from then on.
    const spent = progressed ? { ...job, crashes: 0, releases: job.releases + job.crashes } : job;
    const verdict = decideCrash(spent, { chargedTo: death.isToBlame ? 'crashes' : 'releases', settings });
    telemetry.warn('attempt crashed', {
      ...nameOf(job),
      cause: headline(death.cause),
      charged: death.isToBlame,
    });
    if (verdict.kind === 'fail')
      return ended(await ends.quarantine(held, { ...verdict, lastError: verdict.reason ?? lastError }));
    if (deaths > 1 && !bounds.stopping.aborted)
      await clock.sleep(waitAfter(deaths) / settings.timeScale, bounds.stopping).catch(() => {});
    const next = await restart(held, { ...verdict, lastError, diedAt });
    if (next.kind === 'ended') return next;
    telemetry.count('JobsRestarted');
    // What cannot be run here is released, with the crash on its row.
    const cannotRun =
      bounds.stopping.aborted || !cells.isUsable() || brake.holdsTypeMs(job.type) + brake.holdsHostMs() > 0;
    if (!cannotRun) return next;
    const ending = await ends.release(next.held, 'shutdown', false);
    next.held.lease.end();
    return ended(ending);
  };

  /** Ends the claim and makes the next one with one write, offered for as long as the lease lasts, and as long again. */
  const restart = async (
    held: HeldClaim,
    { crashes, releases, lastError, diedAt }: Restart,
  ): Promise<AfterDeath> => {
    const { job, claim } = held;
    const owner = `${parts.worker}/${chance.unique()}`;
    const next = { owner, leaseMs: job.leaseMs, crashes, releases, lastError, diedAt };
    const sentAt = { latest: readClock(clock) };
    const restarting = () => {
      sentAt.latest = readClock(clock);
      return store.restart(claim, next);
    };
    const answer = await offer(parts, held, restarting, pastLease(held));
    if (answer === undefined) return ended('unsaved');
    switch (answer.outcome) {
      case 'restarted': {
        // A reply that was lost may have granted it earlier than the last request was sent.
        const wall = Math.min(sentAt.latest.wall, answer.job.startedAt);
        const grantedAt = { wall, monotonic: sentAt.latest.monotonic - (sentAt.latest.wall - wall) };
        const lease = new LeaseClock(clock, grantedAt, job.leaseMs);
        // Granted a while ago: the store has given no answer since.
        if (wall < sentAt.latest.wall) lease.ask(sentAt.latest);
        return {
          kind: 'again',
          held: {
            job: answer.job,
            claim: claimOf(answer.job),
            lease,
            startedAt: grantedAt.monotonic,
            stopping: held.stopping,
          },
        };
      }
      case 'withoutData':
        return ended(ends.lostItsData(answer.job, answer.error));
      case 'cancelRequested':
        return ended(await ends.cancel(held));
      case 'lost':
        telemetry.count('WritesFenced');
        return ended('lost');
    }
  };

  return { afterDeath };
}

const waitAfter = (deaths: number): number => Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (deaths - 2));

const ended = (ending: Ending): AfterDeath => ({ kind: 'ended', ending });

const headline = (text: string): string => text.split('\n')[0] ?? '';
