import type { ReceivedMessage } from '../../protocol/ports.ts';
import { createGatherer } from '../gatherer.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { Slots } from './slots.ts';

/** Limits of SQS. */
const MAX_MESSAGES = 10;
const LONGEST_POLL_MS = 20_000;
/** Short, so that an empty or unresponsive queue is noticed soon. */
const BACKLOG_POLL_SECONDS = 1;
/** Free slots wait this long for others, so that claims share requests. */
const GATHER_MS = 10;
const HELD_UP_MS = 250;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5000;
const AHEAD = 3;
/** Receive ahead only if a whole poll's slots become free within this time. */
const WITHIN_MS = 250;

interface PollsOptions {
  readonly parts: WorkerParts;
  readonly slots: Slots;
  readonly isReachable: () => Promise<boolean>;
  readonly inHand: () => number;
  readonly take: (messages: readonly ReceivedMessage[]) => void;
  /** Stops polling; messages already on their way are still taken. */
  readonly draining: AbortSignal;
  readonly hurry: AbortSignal;
}

/** Receives only what can run soon, because each delivery counts. */
export function createPolls(options: PollsOptions) {
  const { parts, slots, isReachable, inHand, take, draining, hurry } = options;
  const { settings, clock, queue, telemetry, cells, crashThrottle, clockCheck } = parts;
  // A poll must end well within the shutdown grace period.
  const waitSeconds = Math.ceil(Math.min(LONGEST_POLL_MS, settings.shutdownGraceMs / 2 + 1) / 1000);
  /** Fewer messages are not worth a request. */
  const full = Math.min(MAX_MESSAGES, slots.limit);
  let asked = 0;
  /** Doubles with each full poll. */
  let allowed = 1;
  let pollMs = 0;
  let pauseMs = FIRST_PAUSE_MS;
  let pauses = 0;
  let waits = 0;
  let isPolling = false;

  const isBacklog = (): boolean => allowed > 1;

  /** Slots that become free before a poll is answered, in whole polls, plus one poll in reserve. */
  const ahead = (): number => {
    const freed = isBacklog() ? slots.freedPerMs() : 0;
    if (freed * WITHIN_MS < full) return 0;
    const most = Math.ceil((AHEAD * slots.limit) / full);
    return Math.min(most, Math.ceil((freed * pollMs) / full) + 1) * full;
  };

  const ready = (): number => {
    if (draining.aborted || waits > 0 || gatherer.underWay() >= allowed) return 0;
    const messages = Math.min(MAX_MESSAGES, slots.free() + ahead() - inHand() - asked);
    // Small polls would cost a request each.
    return messages < full && slots.taken > 0 && gatherer.underWay() > 0 ? 0 : messages;
  };

  const wait = async (ms: number): Promise<void> => {
    waits += 1;
    await clock.sleep(ms, draining).catch(() => {});
    waits -= 1;
  };

  const learn = (got: number, max: number, tookMs: number): void => {
    pauseMs = FIRST_PAUSE_MS;
    if (got === max) {
      allowed = Math.min((AHEAD + 1) * slots.limit, allowed * 2);
      pollMs = pollMs === 0 ? tookMs : (3 * pollMs + tookMs) / 4;
    } else allowed = got === 0 ? 1 : Math.max(1, Math.floor(allowed / 2));
  };

  const pause = async (error: unknown): Promise<void> => {
    const ms = pauseMs;
    pauses += 1;
    isPolling = false;
    allowed = 1;
    pauseMs = Math.min(LONGEST_PAUSE_MS, ms * 2);
    telemetry.error('the queue could not be read', error, { pauseMs: ms });
    await wait(ms);
  };

  const poll = async (max: number, seconds: number): Promise<readonly ReceivedMessage[]> => {
    const mayTake =
      cells.isReady() &&
      crashThrottle.hostPausedMs() === 0 &&
      (await clockCheck.isSound()) &&
      (await isReachable());
    if (draining.aborted) return [];
    isPolling = mayTake;
    if (!mayTake) return wait(HELD_UP_MS).then(() => []);
    const sentAt = clock.monotonic();
    const pausesBefore = pauses;
    try {
      const messages = await queue.receive({ max, waitSeconds: seconds, signal: hurry });
      learn(messages.length, max, clock.monotonic() - sentAt);
      return messages;
    } catch (error) {
      // Polls that fail together pause once.
      if (!draining.aborted && pausesBefore === pauses) await pause(error);
      return [];
    }
  };

  const gatherer = createGatherer({
    clock,
    full,
    ready,
    waitMs: (ageMs) => (slots.taken === 0 ? 0 : GATHER_MS - ageMs),
    async send(count) {
      // The estimate falls as time passes and may be 0 by now.
      const max = Math.max(count, ready());
      asked += max;
      const isIdle = gatherer.underWay() === 0 && !isBacklog();
      const messages = await poll(max, isIdle ? waitSeconds : BACKLOG_POLL_SECONDS);
      asked -= max;
      take(messages);
    },
  });

  return {
    isBacklog,
    isPolling: () => isPolling,
    consider: gatherer.look,
    lastPolls: gatherer.quiet,
  };
}
