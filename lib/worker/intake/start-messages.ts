import type { Clock, ReceivedMessage } from '../../protocol/ports.ts';
import { type Alarm, createAlarm } from '../alarm.ts';
import { Gatherer } from '../gatherer.ts';
import type { RunBounds } from '../run/supervise.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { Engine } from './engine.ts';
import { createMessageExits, type MessageExits } from './message-exits.ts';
import type { Claimable } from './open-message.ts';
import type { Slots } from './slots.ts';

/** Limit of a DynamoDB batch. */
const MOST_CLAIMS = 25;
/** How long a message with a free slot waits for others, while more are coming. */
const GATHER_MS = 10;
/** Without a slot for this long, a message goes back for other workers. */
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
  readonly isBacklog: () => boolean;
  /** Called when messages left without using a slot. */
  readonly onRoom: () => void;
}

/** Claims a received job only when a slot is free to run it at once. */
export class MessageTaker {
  readonly #options: TakerOptions;
  readonly #clock: Clock;
  readonly #exits: MessageExits;
  readonly #claims: Gatherer;
  readonly #patience: Alarm;
  readonly #draining = new AbortController();
  readonly #opened = new Set<Promise<unknown>>();
  readonly #waiting: Waiting[] = [];
  #opening = 0;

  constructor(options: TakerOptions) {
    this.#options = options;
    this.#clock = options.parts.clock;
    this.#exits = createMessageExits(options.parts);
    this.#patience = createAlarm(this.#clock, () => this.claimMore());
    this.#claims = new Gatherer({
      clock: this.#clock,
      full: Math.min(MOST_CLAIMS, options.slots.limit),
      ready: () => Math.min(options.slots.free(), this.#waiting.length),
      waitMs: (ageMs) => (this.#opening > 0 || options.isBacklog() ? GATHER_MS - ageMs : 0),
      send: (count) => this.#claim(count),
    });
  }

  /** Received but not being claimed yet. */
  inHand(): number {
    return this.#opening + this.#waiting.length;
  }

  take(messages: readonly ReceivedMessage[]): void {
    if (this.#draining.signal.aborted) this.#exits.return(messages, 0);
    else
      for (const message of messages) {
        const opened = this.#open(message).finally(() => this.#opened.delete(opened));
        this.#opened.add(opened);
      }
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

  /** Call when slots become free. */
  claimMore(): void {
    if (!this.#mayClaim()) this.#giveUp(this.#waiting.splice(0));
    this.#claims.look();
    if (this.#options.slots.free() === 0) this.#giveUpOverdue();
  }

  #mayClaim(): boolean {
    const { cells, crashThrottle } = this.#options.parts;
    return !this.#draining.signal.aborted && cells.isReady() && crashThrottle.hostPausedMs() === 0;
  }

  async #claim(count: number): Promise<void> {
    const { engine, slots, bounds } = this.#options;
    if (!this.#mayClaim()) return this.#giveUp(this.#waiting.splice(0));
    slots.take(count);
    const claimables = this.#waiting.splice(0, count).map(({ claimable }) => claimable);
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

  #giveUpOverdue(): void {
    if (this.#waiting.length === 0) return;
    const now = this.#clock.monotonic();
    const overdue = this.#waiting.findIndex(({ since }) => now - since < PATIENCE_MS);
    this.#giveUp(this.#waiting.splice(0, overdue === -1 ? this.#waiting.length : overdue));
    if (this.#waiting.length > 0) this.#patience.within(PATIENCE_MS);
  }

  #giveUp(some: readonly Waiting[]): void {
    const messages = some.map(({ claimable }) => claimable.message);
    this.#exits.return(messages, 0);
  }

  /** Counted because such a message comes again and again. */
  #refuse(message: ReceivedMessage, { delaySeconds }: { readonly delaySeconds: number }): void {
    this.#options.parts.telemetry.count('MessagesReturned');
    this.#exits.return([message], delaySeconds);
  }

  /** Returns all unclaimed messages; resolves when pending claims have started. */
  async drain(): Promise<void> {
    this.#draining.abort('draining');
    this.#patience.stop();
    this.claimMore();
    while (this.#opened.size > 0) await Promise.allSettled(this.#opened);
    await this.#claims.quiet();
  }

  settle(): Promise<void> {
    return this.#exits.settle();
  }
}
