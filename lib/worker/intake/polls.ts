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
/** A poll for a backlog is over soon, if there is none any more; and soon given up, if nobody answers. */
const BACKLOG_POLL_SECONDS = 1;
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

interface PollsOptions {
  readonly parts: WorkerParts;
  readonly slots: Slots;
  /** Messages that were received and are not being claimed yet. */
  readonly inHand: () => number;
  readonly take: (messages: readonly ReceivedMessage[]) => void;
  /** No further poll. What the last ones bring is taken all the same. */
  readonly draining: AbortSignal;
  /** Cuts polls off. */
  readonly hurry: AbortSignal;
}

export const createPolls = (options: PollsOptions): Polls => new QueuePolls(options);

/**
 * Polls the queue: one long poll while it is empty, and as many as there is room for while each comes back full. Where slots come free
 * by the time a poll is answered, they count as free already. Nothing is received that could not be run: each delivery counts.
 */
class QueuePolls implements Polls {
  readonly #options: PollsOptions;
  readonly #waitSeconds: number;
  /** As many messages as make a poll worth its request. */
  readonly #full: number;
  readonly #polls = new Set<Promise<void>>();
  /** Messages that polls under way may bring. */
  #asked = 0;
  /** How many polls may be under way: doubled by each that comes back full. */
  #allowed = 1;
  /** How long a full poll takes, lately. */
  #pollMs = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #pauses = 0;
  #waits = 0;
  #hasGathered = false;
  #isPolling = false;

  constructor(options: PollsOptions) {
    this.#options = options;
    // Short enough that a poll ends well within the grace of a stop.
    const longestMs = Math.min(LONGEST_POLL_MS, options.parts.settings.shutdownGraceMs / 2 + 1);
    this.#waitSeconds = Math.ceil(longestMs / 1000);
    this.#full = Math.min(MAX_MESSAGES, options.slots.limit);
  }

  isBacklog(): boolean {
    return this.#allowed > 1;
  }

  isPolling(): boolean {
    return this.#isPolling;
  }

  async lastPolls(): Promise<void> {
    while (this.#polls.size > 0) await Promise.allSettled(this.#polls);
  }

  consider(): void {
    const { draining, slots } = this.#options;
    while (!draining.aborted && this.#waits === 0 && this.#polls.size < this.#allowed) {
      const messages = Math.min(MAX_MESSAGES, this.#room());
      if (messages < 1) return;
      // A few at a time would cost a request each.
      const isWorthIt = messages >= this.#full || this.#hasGathered || slots.taken === 0;
      if (!isWorthIt && this.#polls.size > 0) return;
      if (!isWorthIt) return void this.#gather();
      this.#start(messages);
    }
  }

  #room(): number {
    const { slots, inHand } = this.#options;
    return slots.free() + this.#ahead() - inHand() - this.#asked;
  }

  /**
   * Slots that come free before a poll is answered, in whole polls: a few messages at a time would cost a request each. And one poll
   * more, so that there is a batch in hand when they do.
   */
  #ahead(): number {
    const { slots } = this.#options;
    const freed = this.isBacklog() ? slots.freedPerMs() : 0;
    if (freed * WITHIN_MS < this.#full) return 0;
    const most = Math.ceil((AHEAD * slots.limit) / this.#full);
    return Math.min(most, Math.ceil((freed * this.#pollMs) / this.#full) + 1) * this.#full;
  }

  /** Polls again after a while. */
  async #wait(ms: number): Promise<void> {
    const { parts, draining } = this.#options;
    this.#waits += 1;
    await parts.clock.sleep(ms, draining).catch(() => {});
    this.#waits -= 1;
  }

  async #gather(): Promise<void> {
    await this.#wait(GATHER_MS);
    this.#hasGathered = true;
    this.consider();
  }

  #start(max: number): void {
    this.#hasGathered = false;
    this.#asked += max;
    const isIdle = this.#polls.size === 0 && !this.isBacklog();
    const seconds = isIdle ? this.#waitSeconds : BACKLOG_POLL_SECONDS;
    const polling = this.#poll(max, seconds).then((messages) => {
      this.#asked -= max;
      this.#polls.delete(polling);
      this.#options.take(messages);
      this.consider();
    });
    this.#polls.add(polling);
  }

  async #poll(max: number, seconds: number): Promise<readonly ReceivedMessage[]> {
    const { draining, hurry, parts } = this.#options;
    const { clock, queue, cells, brake, clockCheck } = parts;
    const mayTake = cells.isReady() && brake.holdsHostMs() === 0 && (await clockCheck.isSound());
    if (draining.aborted) return [];
    this.#isPolling = mayTake;
    if (!mayTake) return this.#wait(HELD_UP_MS).then(() => []);
    const sentAt = clock.monotonic();
    const pauses = this.#pauses;
    try {
      const messages = await queue.receive({ max, waitSeconds: seconds, signal: hurry });
      this.#learn(messages.length, max, clock.monotonic() - sentAt);
      return messages;
    } catch (error) {
      // One pause is for all that were under way when the queue failed.
      if (!draining.aborted && pauses === this.#pauses) await this.#pause(error);
      return [];
    }
  }

  #learn(got: number, max: number, tookMs: number): void {
    this.#pauseMs = FIRST_PAUSE_MS;
    if (got === max) {
      this.#allowed = Math.min((AHEAD + 1) * this.#options.slots.limit, this.#allowed * 2);
      this.#pollMs = this.#pollMs === 0 ? tookMs : (3 * this.#pollMs + tookMs) / 4;
    } else this.#allowed = got === 0 ? 1 : Math.max(1, Math.floor(this.#allowed / 2));
  }

  async #pause(error: unknown): Promise<void> {
    const pauseMs = this.#pauseMs;
    this.#pauses += 1;
    this.#isPolling = false;
    this.#allowed = 1;
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
    this.#options.parts.telemetry.error('the queue could not be read', error, { pauseMs });
    await this.#wait(pauseMs);
  }
}
