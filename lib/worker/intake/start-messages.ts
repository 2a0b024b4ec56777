import type { Clock, ReceivedMessage } from '../../protocol/ports.ts';
import type { RunBounds } from '../run/supervise.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { Engine } from './engine.ts';
import { createMessageExits, type MessageExits } from './message-exits.ts';
import type { Claimable } from './open-message.ts';
import type { Slots } from './slots.ts';

export interface MessageTaker {
  /** Opens messages, claims their jobs as slots allow, and starts them. */
  take(messages: readonly ReceivedMessage[]): void;
  /** Messages that were received and are not being claimed yet. */
  inHand(): number;
  /** Slots have come free. */
  claimMore(): void;
  /** Returns what is not claimed yet; from now on nothing is. Resolves when every claim that was under way is started. */
  drain(): Promise<void>;
  /** Resolves when no message is being deleted or returned any more. */
  settle(): Promise<void>;
}

/** DynamoDB takes this many claims in one request. */
const MOST_CLAIMS = 25;
/** How long a message and a slot for it wait for others to be claimed with, while there are more. */
const GATHER_MS = 10;
/** A message for which no slot came free after all goes back, for others to take. */
const PATIENCE_MS = 1000;

interface Waiting {
  readonly claimable: Claimable;
  readonly since: number;
}

interface TakerOptions {
  readonly parts: WorkerParts;
  readonly engine: Engine;
  readonly slots: Slots;
  readonly bounds: RunBounds;
  /** Whether more messages are likely to come soon. */
  readonly isBacklog: () => boolean;
  /** Messages have left the hand without taking a slot, or claims came to nothing. */
  readonly onRoom: () => void;
}

/** What a process does with the messages that it received. A job is claimed only when there is a slot for it to run in at once. */
export const createMessageTaker = (options: TakerOptions): MessageTaker => new ProcessTaker(options);

class ProcessTaker implements MessageTaker {
  readonly #options: TakerOptions;
  readonly #clock: Clock;
  readonly #exits: MessageExits;
  /** A request that is worth sending at once. */
  readonly #full: number;
  readonly #draining = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #waiting: Waiting[] = [];
  #opening = 0;
  /** Since when there has been a slot and a message for it. */
  #possibleSince: number | undefined;
  #wakesAt = Number.POSITIVE_INFINITY;

  constructor(options: TakerOptions) {
    this.#options = options;
    this.#clock = options.parts.clock;
    this.#exits = createMessageExits(options.parts);
    this.#full = Math.min(MOST_CLAIMS, options.slots.limit);
  }

  inHand(): number {
    return this.#opening + this.#waiting.length;
  }

  take(messages: readonly ReceivedMessage[]): void {
    if (this.#draining.signal.aborted) this.#exits.return(messages, 0);
    else for (const message of messages) this.#track(this.#open(message));
  }

  async #open(message: ReceivedMessage): Promise<void> {
    this.#opening += 1;
    const opened = await this.#options.engine.open(message);
    this.#opening -= 1;
    if (opened.kind === 'settled') this.#exits.delete([message]);
    if (opened.kind === 'returned') this.#refuse(message, opened);
    if (opened.kind !== 'claimable') return this.#options.onRoom();
    this.#waiting.push({ claimable: opened, since: this.#clock.monotonic() });
    this.claimMore();
  }

  claimMore(): void {
    const { slots } = this.#options;
    if (this.#waiting.length > 0 && !this.#mayClaim()) this.#giveUp(this.#waiting.splice(0));
    for (;;) {
      const count = Math.min(this.#full, slots.free(), this.#waiting.length);
      if (count === 0) {
        this.#possibleSince = undefined;
        this.#giveUpOverdue();
        return;
      }
      const waitMs = this.#gatherMs(count);
      if (waitMs > 0) return void this.#wake(waitMs);
      this.#possibleSince = undefined;
      slots.take(count);
      this.#track(this.#claim(this.#waiting.splice(0, count).map(({ claimable }) => claimable)));
    }
  }

  #mayClaim(): boolean {
    const { cells, brake } = this.#options.parts;
    return !this.#draining.signal.aborted && cells.isReady() && brake.holdsHostMs() === 0;
  }

  /** How much longer so many wait for others, while there are more to come. */
  #gatherMs(count: number): number {
    this.#possibleSince ??= this.#clock.monotonic();
    if (count === this.#full) return 0;
    const waitMs = GATHER_MS - (this.#clock.monotonic() - this.#possibleSince);
    return waitMs > 0 && (this.#opening > 0 || this.#options.isBacklog()) ? waitMs : 0;
  }

  async #claim(claimables: readonly Claimable[]): Promise<void> {
    const { engine, slots, bounds } = this.#options;
    const verdicts = await engine.claim(claimables);
    const done: ReceivedMessage[] = [];
    for (const [i, { message }] of claimables.entries()) {
      const verdict = verdicts[i];
      if (verdict?.kind === 'returned') this.#refuse(message, verdict);
      else done.push(message);
      if (verdict?.kind === 'claimed') slots.run((returned) => engine.run(verdict, bounds, returned));
      else slots.unclaimed();
    }
    this.#exits.delete(done);
  }

  /** Looks again when the message that has waited longest has waited for long enough. */
  async #wake(ms: number): Promise<void> {
    const at = this.#clock.monotonic() + ms;
    if (at >= this.#wakesAt) return;
    this.#wakesAt = at;
    await this.#clock.sleep(ms, this.#draining.signal).catch(() => {});
    if (this.#wakesAt !== at) return;
    this.#wakesAt = Number.POSITIVE_INFINITY;
    this.claimMore();
  }

  #giveUpOverdue(): void {
    if (this.#waiting.length === 0) return;
    const now = this.#clock.monotonic();
    const overdue = this.#waiting.findIndex(({ since }) => now - since < PATIENCE_MS);
    this.#giveUp(this.#waiting.splice(0, overdue === -1 ? this.#waiting.length : overdue));
    void this.#wake(PATIENCE_MS);
  }

  #giveUp(some: readonly Waiting[]): void {
    if (some.length === 0) return;
    const claimables = some.map(({ claimable }) => claimable);
    this.#options.engine.forget(claimables);
    this.#exits.return(
      claimables.map(({ message }) => message),
      0,
    );
  }

  /** Says so: a message that cannot be dealt with comes again and again. */
  #refuse(message: ReceivedMessage, { delaySeconds }: { readonly delaySeconds: number }): void {
    this.#options.parts.telemetry.count('MessagesReturned');
    this.#exits.return([message], delaySeconds);
  }

  #track(act: Promise<void>): void {
    const tracked = act.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }

  async drain(): Promise<void> {
    this.#draining.abort('draining');
    this.claimMore();
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  settle(): Promise<void> {
    return this.#exits.settle();
  }
}
