import type { Table } from '../../../protocol/ports.ts';
import { parseReaperRow } from '../../../protocol/store/reaper-row.ts';
import { LEADER_KEY } from '../../../wire/table.ts';
import type { HealthSigns } from '../../inspect/health.ts';
import type { QueueDepth } from '../page-messages.ts';
import type { WatcherOptions } from './watcher.ts';

type Options = Pick<WatcherOptions, 'clock' | 'queueDepth' | 'queueAge' | 'queueEveryMs'> & {
  readonly table: Pick<Table, 'read'>;
  readonly onProblem: (error: unknown) => void;
};

/** Watches the queue and the reaper's row. */
export class Surroundings {
  readonly #options: Options;
  #queue: QueueDepth | undefined;
  #ageMs: number | undefined;
  #reaper: HealthSigns['reaper'];
  #readAt = Number.NEGATIVE_INFINITY;
  #untakenSince: number | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  get queue(): QueueDepth | undefined {
    return this.#queue;
  }

  async look(): Promise<void> {
    const { clock, table, queueDepth, queueAge, queueEveryMs } = this.#options;
    if (clock.monotonic() - this.#readAt < queueEveryMs) return;
    this.#readAt = clock.monotonic();
    const [queue, ageMs, row] = await Promise.all([
      this.#orUnknown(queueDepth),
      this.#orUnknown(queueAge),
      table.read(LEADER_KEY),
    ]);
    this.#queue = queue;
    this.#ageMs = ageMs;
    this.#reaper = row === undefined ? undefined : parseReaperRow(row);
  }

  /** Notes since when messages wait while no worker takes one. */
  judge(running: number): void {
    const { visible = 0, inFlight = 0 } = this.#queue ?? {};
    const isUntaken = visible > 0 && inFlight === 0 && running === 0;
    this.#untakenSince = isUntaken ? (this.#untakenSince ?? this.#options.clock.monotonic()) : undefined;
  }

  signs(): Pick<HealthSigns, 'queue' | 'oldestMessageMs' | 'untakenMs' | 'reaper'> {
    const since = this.#untakenSince;
    return {
      queue: this.#queue,
      oldestMessageMs: this.#ageMs,
      untakenMs: since === undefined ? 0 : this.#options.clock.monotonic() - since,
      reaper: this.#reaper,
    };
  }

  /** Unknown is better than old, and does not cast doubt on the table's data. */
  async #orUnknown<value>(ask: (() => Promise<value>) | undefined): Promise<value | undefined> {
    return ask?.().catch((error: unknown) => {
      this.#options.onProblem(error);
      return undefined;
    });
  }
}
