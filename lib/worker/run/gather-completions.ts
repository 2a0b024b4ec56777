import type { Claim } from '../../protocol/job.ts';
import type { Clock, FencedOutcome, JobStore } from '../../protocol/ports.ts';
import { waitAtMost } from '../../protocol/wait-at-most.ts';
import type { JsonValue } from '../../wire/message.ts';

/** DynamoDB takes this many rows in one request. */
const FULL = 25;
/** A completion waits this long for others, or half as long as the last request took where that is more. */
const WINDOW_MS = 5;
/** Neither for others nor for the request before it does it wait longer: a store that hangs must not hold up its neighbours. */
const LONGEST_WAIT_MS = 50;

interface WaitingCompletion {
  readonly end: { readonly claim: Claim; readonly result?: JsonValue };
  readonly settle: (outcome: Awaited<ReturnType<JobStore['completeMany']>>[number]) => void;
}

/**
 * A store that writes the completions of jobs that end at about the same time with one request: those of a few
 * milliseconds, and those that come while a request is under way. Each row keeps its own condition and its own verdict.
 */
export function gatherCompletions(store: JobStore, clock: Clock): JobStore {
  const waiting: WaitingCompletion[] = [];
  let isPlanned = false;
  let underWay: Promise<unknown> = Promise.resolve();
  let windowMs = WINDOW_MS;

  const send = async (batch: readonly WaitingCompletion[]): Promise<void> => {
    const [only] = batch;
    if (only === undefined) return;
    const sentAt = clock.monotonic();
    const outcomes =
      batch.length === 1
        ? [await store.complete(only.end.claim, only.end.result).catch(failed)]
        : await store
            .completeMany(batch.map(({ end }) => end))
            .catch((error: Error) => batch.map(() => failed(error)));
    windowMs = Math.min(LONGEST_WAIT_MS, Math.max(WINDOW_MS, (clock.monotonic() - sentAt) / 2));
    for (const [i, { settle }] of batch.entries())
      settle(outcomes[i] ?? failed(new Error('the store gave no verdict')));
  };

  const flush = (): void => {
    const batch = waiting.splice(0, FULL);
    underWay = send(batch);
  };

  const plan = async (): Promise<void> => {
    isPlanned = true;
    await clock.sleep(windowMs);
    await waitAtMost(LONGEST_WAIT_MS, underWay, clock);
    isPlanned = false;
    while (waiting.length > 0) flush();
  };

  return {
    ...store,
    async complete(claim, result): Promise<FencedOutcome> {
      const { promise, resolve } = Promise.withResolvers<Parameters<WaitingCompletion['settle']>[0]>();
      waiting.push({ end: { claim, result }, settle: resolve });
      if (waiting.length >= FULL) flush();
      else if (!isPlanned) void plan();
      const outcome = await promise;
      if (outcome.outcome === 'failed') throw outcome.error;
      return outcome;
    },
  };
}

const failed = (error: Error) => ({ outcome: 'failed' as const, error });
