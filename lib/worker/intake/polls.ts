import type { ReceivedMessage } from '../../protocol/ports.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { Slots } from './slots.ts';

/** The polls of a process. */
export interface Polls {
  /** Something has changed: polls if there is room for what it may bring. */
  consider(): void;
  /** Whether more messages are likely to come soon. */
  isBacklog(): boolean;
  /** Whether the queue was asked, and answered. */
  isPolling(): boolean;
  /** Resolves when no poll is under way. */
  lastPolls(): Promise<void>;
}

/** SQS hands out at most this many messages at a time, and waits at most this long for the first. */
const MAX_MESSAGES = 10;
const LONGEST_POLL_MS = 20_000;
/** A poll beside others is for a backlog: if there is none, it is over soon. */
const EXTRA_POLL_SECONDS = 1;
/** How long a free slot waits for others to come free, so that messages are received and claimed together. */
const GATHER_MS = 10;
/** How often a host that may not take jobs looks whether it may again. */
const HELD_UP_MS = 250;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** Messages for slots that are about to come free: at most this many for each slot. */
const AHEAD = 3;
/** And only where slots for a whole poll come free within this time: of longer jobs nothing is taken ahead. */
const WITHIN_MS = 250;

/**
 * Polls the queue: one long poll while it is empty, and as many as there is room for while each comes back full. Where slots come free
 * by the time a poll is answered, they count as free already. Nothing is received that could not be run: each delivery counts.
 */
export function createPolls(options: {
  readonly parts: WorkerParts;
  readonly slots: Slots;
  /** Messages that were received and are not being claimed yet. */
  readonly inHand: () => number;
  readonly take: (messages: readonly ReceivedMessage[]) => void;
  /** No further poll. What the last ones bring is taken all the same. */
  readonly draining: AbortSignal;
  /** Cuts polls off. */
  readonly hurry: AbortSignal;
}): Polls {
  const { parts, slots, inHand, draining, hurry } = options;
  const { settings, clock, queue, telemetry, cells, brake, clockCheck } = parts;
  // Short enough that a poll ends well within the grace of a stop.
  const waitSeconds = Math.ceil(Math.min(LONGEST_POLL_MS, settings.shutdownGraceMs / 2 + 1) / 1000);
  const full = Math.min(MAX_MESSAGES, slots.limit);
  const mostAhead = Math.ceil((AHEAD * slots.limit) / full);
  const polls = new Set<Promise<void>>();
  /** Messages that polls under way may bring. */
  let asked = 0;
  /** How many polls may be under way: doubled by each that comes back full. */
  let allowed = 1;
  let pollMs = 0;
  let pauseMs = FIRST_PAUSE_MS;
  let waits = 0;
  let hasGathered = false;
  let isPolling = false;

  const isBacklog = () => allowed > 1;
  /**
   * Slots that come free before a poll is answered, in whole polls: a few messages at a time would cost a request each. And one poll
   * more, so that there is a batch in hand when they do.
   */
  const ahead = (): number => {
    const freed = isBacklog() ? slots.freedPerMs() : 0;
    if (freed * WITHIN_MS < full) return 0;
    return Math.min(mostAhead, Math.ceil((freed * pollMs) / full) + 1) * full;
  };
  const room = () => slots.free() + ahead() - inHand() - asked;

  /** Polls again after a while. */
  const wait = async (ms: number): Promise<void> => {
    waits += 1;
    await clock.sleep(ms, draining).catch(() => {});
    waits -= 1;
  };
  const gather = async (): Promise<void> => {
    await wait(GATHER_MS);
    hasGathered = true;
    consider();
  };

  const learn = (got: number, max: number, tookMs: number): void => {
    if (got === max) {
      allowed = Math.min((AHEAD + 1) * slots.limit, allowed * 2);
      pollMs = pollMs === 0 ? tookMs : (3 * pollMs + tookMs) / 4;
    } else allowed = got === 0 ? 1 : Math.max(1, Math.floor(allowed / 2));
  };

  const poll = async (max: number, seconds: number): Promise<readonly ReceivedMessage[]> => {
    const mayTake = cells.isReady() && brake.holdsHostMs() === 0 && (await clockCheck.isSound());
    if (draining.aborted) return [];
    isPolling = mayTake;
    if (!mayTake) return wait(HELD_UP_MS).then(() => []);
    const sentAt = clock.monotonic();
    try {
      const messages = await queue.receive({ max, waitSeconds: seconds, signal: hurry });
      learn(messages.length, max, clock.monotonic() - sentAt);
      pauseMs = FIRST_PAUSE_MS;
      return messages;
    } catch (error) {
      if (draining.aborted) return [];
      isPolling = false;
      allowed = 1;
      const pause = pauseMs;
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
      telemetry.error('the queue could not be read', error, { pauseMs: pause });
      await wait(pause);
      return [];
    }
  };

  const start = (max: number): void => {
    hasGathered = false;
    asked += max;
    const polling = poll(max, polls.size === 0 ? waitSeconds : EXTRA_POLL_SECONDS).then((messages) => {
      asked -= max;
      polls.delete(polling);
      options.take(messages);
      consider();
    });
    polls.add(polling);
  };

  const consider = (): void => {
    while (!draining.aborted && waits === 0 && polls.size < allowed) {
      const messages = Math.min(MAX_MESSAGES, room());
      if (messages < 1) return;
      // A few at a time would cost a request each.
      const isWorthIt = messages >= full || hasGathered || slots.taken === 0;
      if (!isWorthIt && polls.size > 0) return;
      if (!isWorthIt) return void gather();
      start(messages);
    }
  };

  return {
    consider,
    isBacklog,
    isPolling: () => isPolling,
    async lastPolls() {
      while (polls.size > 0) await Promise.allSettled(polls);
    },
  };
}
