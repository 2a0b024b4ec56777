import type { Clock } from '../protocol/ports.ts';
import { type Alarm, createAlarm } from './alarm.ts';

interface GathererOptions {
  readonly clock: Clock;
  readonly full: number;
  readonly ready: () => number;
  readonly waitMs: (ageMs: number) => number;
  /** Must handle its own failures. */
  readonly send: (count: number) => Promise<unknown>;
}

/** Batches requests: sends once full, or once the oldest has waited long enough. */
export class Gatherer {
  readonly #options: GathererOptions;
  readonly #alarm: Alarm;
  readonly #underWay = new Set<Promise<unknown>>();
  #readySince: number | undefined;

  constructor(options: GathererOptions) {
    this.#options = options;
    this.#alarm = createAlarm(options.clock, () => this.look());
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  /** Call when something arrived or became sendable. */
  look(): void {
    const { clock, full, ready, waitMs } = this.#options;
    for (;;) {
      const count = Math.min(full, ready());
      if (count < 1) {
        this.#readySince = undefined;
        return;
      }
      const now = clock.monotonic();
      this.#readySince ??= now;
      const wait = count === full ? 0 : waitMs(now - this.#readySince);
      if (wait > 0) {
        this.lookWithin(wait);
        return;
      }
      this.#send(count);
    }
  }

  lookWithin(ms: number): void {
    this.#alarm.within(ms);
  }

  async quiet(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  /** Sends everything that is ready, then waits for the replies. */
  async settle(): Promise<void> {
    const { full, ready } = this.#options;
    for (let count = ready(); count > 0; count = ready()) this.#send(Math.min(full, count));
    await this.quiet();
  }

  stop(): void {
    this.#alarm.stop();
  }

  #send(count: number): void {
    this.#readySince = undefined;
    const batch = this.#options.send(count).finally(() => {
      this.#underWay.delete(batch);
      this.look();
    });
    this.#underWay.add(batch);
  }
}
