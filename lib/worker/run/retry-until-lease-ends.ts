import type { WorkerParts } from '../worker-parts.ts';
import { type HeldClaim, nameOf } from './held-claim.ts';

const REPEAT_MS = 100;
const LONGEST_REPEAT_MS = 2000;

/** One more lease, unless the host is stopping. */
export const oneMoreLease =
  ({ job, stopping }: Pick<HeldClaim, 'job' | 'stopping'>) =>
  (): number =>
    stopping.aborted ? 0 : job.leaseMs;

/** Undefined if the store never answered. */
export async function retryUntilLeaseEnds<Answer>(
  { clock, random, telemetry }: Pick<WorkerParts, 'clock' | 'random' | 'telemetry'>,
  { job, lease }: Pick<HeldClaim, 'job' | 'lease'>,
  ask: () => Promise<Answer>,
  beyondMs: () => number = () => 0,
): Promise<Answer | undefined> {
  for (let wait = REPEAT_MS; ; wait = Math.min(LONGEST_REPEAT_MS, wait * 2)) {
    try {
      return await ask();
    } catch (error) {
      const isLast = lease.remainingMs() + beyondMs() <= wait;
      const next = isLast ? 'its lease will lapse' : 'it is tried again';
      telemetry.error(`the end of a run could not be stored; ${next}`, error, nameOf(job));
      if (isLast) return undefined;
      await clock.sleep(wait * (1 + random.next()));
    }
  }
}
