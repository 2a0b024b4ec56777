import type { Clock, Table } from '../../../protocol/ports.ts';

/** DynamoDB bills reads by 4 KB; reads of an index cost half. */
const UNIT_BYTES = 4096;

/** JSON is a little longer than what DynamoDB counts, which errs on the cheap side. */
export const readUnits = (read: unknown, perUnit: 0.5 | 1): number =>
  Math.ceil((JSON.stringify(read)?.length ?? 0) / UNIT_BYTES || 1) * perUnit;

/** Paces background reads, so that an open page has a known price. */
export class ReadBudget {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #stopping: AbortSignal;
  #balance: number;
  #at: number;
  #spent = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(clock: Clock, perSecond: number, stopping: AbortSignal) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#stopping = stopping;
    this.#balance = perSecond;
    this.#at = clock.monotonic();
  }

  get spent(): number {
    return this.#spent;
  }

  get isFree(): boolean {
    return this.#perSecond === Number.POSITIVE_INFINITY;
  }

  /** For reads that must not wait; later ones wait longer. */
  spend(units: number): void {
    this.#spent += units;
    this.#balance -= units;
  }

  /** One at a time, so that no burst is larger than one reply. */
  async run<reply>(read: () => Promise<reply>, unitsOf: (reply: reply) => number): Promise<reply> {
    if (this.isFree) return read();
    const turn = this.#turn.then(async () => {
      await this.#untilPaid();
      const reply = await read();
      this.spend(unitsOf(reply));
      return reply;
    });
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #untilPaid(): Promise<void> {
    this.#refill();
    if (this.#balance >= 0) return;
    await this.#clock.sleep((-this.#balance / this.#perSecond) * 1000, this.#stopping);
    this.#refill();
  }

  #refill(): void {
    const now = this.#clock.monotonic();
    const earned = ((now - this.#at) / 1000) * this.#perSecond;
    this.#balance = Math.min(this.#perSecond, this.#balance + earned);
    this.#at = now;
  }
}

export const pacedTable = (table: Table, budget: ReadBudget): Table => ({
  ...table,
  query: (request) =>
    budget.run(
      () => table.query(request),
      ({ rows }) => readUnits(rows, 0.5),
    ),
  read: (jobId) =>
    budget.run(
      () => table.read(jobId),
      (row) => readUnits(row, 1),
    ),
});
