import type { ReceivedMessage } from '../../protocol/ports.ts';
import { Gatherer } from '../gatherer.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { Slots } from './slots.ts';

/** Limits of SQS. */
const MAX_MESSAGES = 10;
const LONGEST_POLL_MS = 20_000;
/** Short, so that an empty or unresponsive queue is noticed soon. */
const BACKLOG_POLL_SECONDS = 1;
/** Free slots wait this long for others, so that messages are received and claimed together. */
const GATHER_MS = 10;
/** How often a host that may not take jobs checks again. */
const HELD_UP_MS = 250;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5000;
/** Messages received ahead, per slot. */
const AHEAD = 3;
/** Nothing is received ahead unless a whole poll's slots become free within this time. */
const WITHIN_MS = 250;

interface PollsOptions {
  readonly parts: WorkerParts;
  readonly slots: Slots;
  /** False during an outage of the store. */
  readonly isReachable: () => Promise<boolean>;
  /** Received but not being claimed yet. */
  readonly inHand: () => number;
  readonly take: (messages: readonly ReceivedMessage[]) => void;
  /** Stops polling; messages already on their way are still taken. */
  readonly draining: AbortSignal;
  /** Aborts polls. */
  readonly hurry: AbortSignal;
}

/**
 * One long poll while the queue is empty, more in parallel while polls come back full. Receives only what can run
 * soon, because each delivery counts.
 */
export class Polls {
  readonly #options: PollsOptions;
  readonly #waitSeconds: number;
  /** Messages that make a poll worth its request. */
  readonly #full: number;
  readonly #gatherer: Gatherer;
  /** Messages that pending polls may bring. */
  #asked = 0;
  /** Parallel polls allowed; doubles with each full poll. */
  #allowed = 1;
  /** Recent duration of a full poll. */
  #pollMs = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #pauses = 0;
  #waits = 0;
  #isPolling = false;

  constructor(options: PollsOptions) {
    this.#options = options;
    // A poll must end well within the shutdown grace period.
    const longestMs = Math.min(LONGEST_POLL_MS, options.parts.settings.shutdownGraceMs / 2 + 1);
    this.#waitSeconds = Math.ceil(longestMs / 1000);
    this.#full = Math.min(MAX_MESSAGES, options.slots.limit);
    this.#gatherer = new Gatherer({
      clock: options.parts.clock,
      full: this.#full,
      ready: () => this.#ready(),
      waitMs: (ageMs) => (options.slots.taken === 0 ? 0 : GATHER_MS - ageMs),
      send: (count) => this.#start(count),
    });
  }

  isBacklog(): boolean {
    return this.#allowed > 1;
  }

  /** The last poll was answered. */
  isPolling(): boolean {
    return this.#isPolling;
  }

  lastPolls(): Promise<void> {
    return this.#gatherer.quiet();
  }

  /** Polls if there is room. */
  consider(): void {
    this.#gatherer.look();
  }

  #ready(): number {
    const { draining, slots } = this.#options;
    if (draining.aborted || this.#waits > 0 || this.#gatherer.underWay >= this.#allowed) return 0;
    const messages = Math.min(MAX_MESSAGES, this.#room());
    // Small polls would cost a request each.
    return messages < this.#full && slots.taken > 0 && this.#gatherer.underWay > 0 ? 0 : messages;
  }

  #room(): number {
    const { slots, inHand } = this.#options;
    return slots.free() + this.#ahead() - inHand() - this.#asked;
  }

  /** Slots that become free before a poll is answered, in whole polls, plus one poll in reserve. */
  #ahead(): number {
    const { slots } = this.#options;
    const freed = this.isBacklog() ? slots.freedPerMs() : 0;
    if (freed * WITHIN_MS < this.#full) return 0;
    const most = Math.ceil((AHEAD * slots.limit) / this.#full);
    return Math.min(most, Math.ceil((freed * this.#pollMs) / this.#full) + 1) * this.#full;
  }

  async #wait(ms: number): Promise<void> {
    const { parts, draining } = this.#options;
    this.#waits += 1;
    await parts.clock.sleep(ms, draining).catch(() => {});
    this.#waits -= 1;
  }

  async #start(count: number): Promise<void> {
    // Slots freed per millisecond fall as time passes: what was ready a moment ago may count as none by now.
    const max = Math.max(count, this.#ready());
    this.#asked += max;
    const isIdle = this.#gatherer.underWay === 0 && !this.isBacklog();
    const messages = await this.#poll(max, isIdle ? this.#waitSeconds : BACKLOG_POLL_SECONDS);
    this.#asked -= max;
    this.#options.take(messages);
  }

  async #poll(max: number, seconds: number): Promise<readonly ReceivedMessage[]> {
    const { draining, hurry, parts, isReachable } = this.#options;
    const { clock, queue, cells, crashThrottle, clockCheck } = parts;
    const mayTake =
      cells.isReady() &&
      crashThrottle.hostPausedMs() === 0 &&
      (await clockCheck.isSound()) &&
      (await isReachable());
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
      // Polls that fail together pause once.
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
