import { planDispatch } from '../../protocol/decisions/dispatch.ts';
import { sendHint } from '../run/send-hint.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { Claimable } from './open-message.ts';

/** Claims that got no answer. One that was granted all the same has nobody who beats for it, and would be charged a crash. */
export interface UnknownClaims {
  /** Releases the claim if it was granted: at once, or beside whatever follows, for as long as its lease could last. */
  release(claimable: Claimable, owner: string): Promise<void>;
  /** Tries once more what is left, and resolves when nothing is under way. */
  settle(): Promise<void>;
}

/** First wait before the store is asked again; doubles each time. */
const REPEAT_MS = 100;
const LONGEST_REPEAT_MS = 2000;
/** A store that refuses everything is not asked without end: the leases of others lapse. */
const MOST_UNDER_WAY = 100;

export function createUnknownClaims(parts: WorkerParts): UnknownClaims {
  const { clock, chance, store, settings, telemetry } = parts;
  const underWay = new Set<Promise<void>>();
  let hurry = new AbortController();

  /** Undefined where there was no answer again. */
  const releaseOnce = async (jobId: string, owner: string) => {
    const dispatch = planDispatch(clock.now(), clock.now(), settings);
    const answer = await store.releaseUnknown(jobId, owner, dispatch).catch(() => undefined);
    return answer && { isReleased: answer.outcome === 'written', dispatch };
  };

  const releaseLater = async ({ job, type }: Claimable, owner: string): Promise<void> => {
    const { signal } = hurry;
    const leaseMs = 'leaseMs' in job ? job.leaseMs : settings.leaseMs;
    const until = clock.monotonic() + leaseMs;
    for (let wait = REPEAT_MS; ; wait = Math.min(LONGEST_REPEAT_MS, wait * 2)) {
      await clock.sleep(wait * (1 + chance.random()), signal).catch(() => {});
      const isLast = signal.aborted || clock.monotonic() >= until;
      const released = await releaseOnce(job.jobId, owner);
      if (released?.isReleased) {
        telemetry.count('JobsReleased');
        // Its message may have come again meanwhile, and have been deleted because the job was held.
        await sendHint(parts, { jobId: job.jobId, type }, released.dispatch);
      }
      if (released !== undefined || isLast) return;
    }
  };

  return {
    async release(claimable, owner) {
      // Where this gets an answer, the message in hand or in the queue is hint enough.
      if ((await releaseOnce(claimable.job.jobId, owner)) !== undefined) return;
      if (underWay.size >= MOST_UNDER_WAY) return;
      const releasing = releaseLater(claimable, owner).finally(() => underWay.delete(releasing));
      underWay.add(releasing);
    },
    async settle() {
      hurry.abort('the host ends, or its invocation');
      hurry = new AbortController();
      await Promise.all(underWay);
    },
  };
}
