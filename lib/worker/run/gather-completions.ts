import type { Clock, FencedOutcome, JobStore } from '../../protocol/ports.ts';
import { asFailure } from '../../protocol/store/store-parts.ts';
import { createGatherer } from '../gatherer.ts';

/** DynamoDB batch limit. */
const FULL = 25;
const WINDOW_MS = 5;
/** A hanging store must not hold completions longer. */
const BUSY_WINDOW_MS = 50;

interface WaitingCompletion {
  readonly end: Parameters<JobStore['completeMany']>[0][number];
  readonly settle: (outcome: Awaited<ReturnType<JobStore['completeMany']>>[number]) => void;
}

/** Each row keeps its own condition and verdict. */
export function gatherCompletions(store: JobStore, clock: Clock): JobStore {
  const waiting: WaitingCompletion[] = [];
  const requests = createGatherer({
    clock,
    full: FULL,
    ready: () => waiting.length,
    waitMs: (ageMs) => (requests.underWay() > 0 ? BUSY_WINDOW_MS : WINDOW_MS) - ageMs,
    send: (count) => send(waiting.splice(0, count)),
  });

  const send = async (batch: readonly WaitingCompletion[]): Promise<void> => {
    const outcomes = await store
      .completeMany(batch.map(({ end }) => end))
      .catch((error: Error) => batch.map(() => asFailure(error)));
    for (const [i, { settle }] of batch.entries())
      settle(outcomes[i] ?? asFailure(new Error('the store returned no result')));
  };

  return {
    ...store,
    async complete(claim, result, progress): Promise<FencedOutcome> {
      const { promise, resolve } = Promise.withResolvers<Parameters<WaitingCompletion['settle']>[0]>();
      waiting.push({ end: { claim, result, progress }, settle: resolve });
      requests.look();
      const outcome = await promise;
      if (outcome.outcome === 'failed') throw outcome.error;
      return outcome;
    },
  };
}
