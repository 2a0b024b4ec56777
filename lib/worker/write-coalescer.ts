import type { JsonValue } from '../contract/message.ts';
import type { Claim } from '../jobs/job.ts';
import type { Clock, FencedOutcome, JobStore } from '../jobs/ports.ts';

/** How long a result waits for others to be stored with; less than a request takes. */
const WINDOW_MS = 5;
/** What one request takes. */
const MOST_TOGETHER = 25;

interface Waiting {
  readonly claim: Claim;
  readonly result?: JsonValue;
  readonly settle: PromiseWithResolvers<FencedOutcome>;
}

/**
 * A store whose results are written together when jobs end at the same time. Each keeps its own condition and gets its own
 * verdict; one that ends by itself is written by itself.
 */
export function withCoalescedCompletions(store: JobStore, clock: Clock): JobStore {
  let waiting: Waiting[] = [];

  const writeAll = async () => {
    const together = waiting;
    waiting = [];
    const [only] = together;
    if (only === undefined) return;
    if (together.length === 1) {
      only.settle.resolve(store.complete(only.claim, only.result));
      return;
    }
    try {
      const outcomes = await store.completeMany(together);
      for (const [i, { settle }] of together.entries()) {
        const outcome = outcomes[i];
        if (outcome === undefined || outcome.outcome === 'failed') settle.reject(outcome?.error);
        else settle.resolve(outcome);
      }
    } catch (error) {
      for (const { settle } of together) settle.reject(error);
    }
  };

  return {
    ...store,
    complete(claim, result) {
      const settle = Promise.withResolvers<FencedOutcome>();
      waiting.push({ claim, settle, ...(result === undefined ? {} : { result }) });
      if (waiting.length === 1) void clock.sleep(WINDOW_MS).then(writeAll);
      else if (waiting.length === MOST_TOGETHER) void writeAll();
      return settle.promise;
    },
  };
}
