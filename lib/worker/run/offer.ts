import type { WorkerParts } from '../worker-parts.ts';
import { type HeldClaim, nameOf } from './held-claim.ts';
import { readClock } from './lease-clock.ts';

/** First wait before the store is asked again; doubles each time. */
const REPEAT_MS = 100;
const LONGEST_REPEAT_MS = 2000;

/** How long an end is offered past its lease: as long again, but not where the host has to go, which nobody waits for. */
export const pastLease =
  ({ job, stopping }: Pick<HeldClaim, 'job' | 'stopping'>) =>
  (): number =>
    stopping.aborted ? 0 : job.leaseMs;

/** Asks the store until it answers or the lease, and so long beyond it, is over; undefined when it never did. */
export async function offer<Answer>(
  { clock, chance, telemetry }: Pick<WorkerParts, 'clock' | 'chance' | 'telemetry'>,
  { job, lease }: Pick<HeldClaim, 'job' | 'lease'>,
  ask: () => Promise<Answer>,
  beyondMs: () => number = () => 0,
): Promise<Answer | undefined> {
  for (let wait = REPEAT_MS; ; wait = Math.min(LONGEST_REPEAT_MS, wait * 2)) {
    try {
      return await ask();
    } catch (error) {
      lease.ask(readClock(clock));
      const isLast = lease.remainingMs() + beyondMs() <= wait;
      const says = isLast ? 'its lease will lapse' : 'it is offered again';
      telemetry.error(`the end of a run could not be stored; ${says}`, error, nameOf(job));
      if (isLast) return undefined;
      await clock.sleep(wait * (1 + chance.random()));
    }
  }
}
