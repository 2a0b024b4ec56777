import { noControl, parseControl } from '../../../protocol/limits/control.ts';
import type { Table } from '../../../protocol/ports.ts';
import { parseReaperRow } from '../../../protocol/store/reaper-row.ts';
import { CONTROL_KEY } from '../../../wire/limits.ts';
import { LEADER_KEY } from '../../../wire/table.ts';
import type { HealthSigns } from '../../inspect/health.ts';
import type { QueueDepth } from '../page-messages.ts';
import type { WatcherOptions } from './watcher.ts';

type Options = Pick<WatcherOptions, 'clock' | 'queueDepth' | 'queueAge' | 'queueEveryMs' | 'poolsOf'> & {
  /** One type for each running job. */
  readonly running: () => Parameters<NonNullable<WatcherOptions['poolsOf']>>[0];
  readonly table: Pick<Table, 'read'>;
  readonly onProblem: (error: unknown) => void;
};

export class Surroundings {
  readonly #options: Options;
  #queue: QueueDepth | undefined;
  #ageMs: number | undefined;
  #reaper: HealthSigns['reaper'];
  #pools: HealthSigns['pools'];
  readonly #untakenSince = new Map<string, number>();
  control = noControl;
  #readAt = Number.NEGATIVE_INFINITY;
  #untakenMs = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  get queue(): QueueDepth | undefined {
    return this.#queue;
  }

  lookSoon(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }

  async look(): Promise<void> {
    const { clock, table, queueDepth, queueAge, queueEveryMs, poolsOf, running } = this.#options;
    if (clock.monotonic() - this.#readAt < queueEveryMs) return;
    this.#readAt = clock.monotonic();
    const [queue, ageMs, row, control, pools] = await Promise.all([
      this.#orUnknown(queueDepth),
      this.#orUnknown(queueAge),
      table.read(LEADER_KEY),
      table.read(CONTROL_KEY),
      this.#orUnknown(poolsOf && (() => poolsOf(running()))),
    ]);
    this.control = parseControl(control);
    this.#pools = pools?.map((pool) => ({
      ...pool,
      untakenMs: this.#untakenOf(pool.name, pool.queue, pool.running.count),
    }));
    this.#queue = pools === undefined ? queue : depthOf(pools);
    this.#ageMs = ageMs;
    this.#reaper = row === undefined ? undefined : parseReaperRow(row);
  }

  /** Notes since when messages wait while no worker takes one. */
  judge(running: number): void {
    this.#untakenMs = this.#untakenOf('', this.#queue, running);
  }

  #untakenOf(pool: string, queue: QueueDepth = NO_QUEUE, running: number): number {
    const now = this.#options.clock.monotonic();
    const isUntaken = queue.visible > 0 && queue.inFlight + running === 0;
    if (!isUntaken) this.#untakenSince.delete(pool);
    else if (!this.#untakenSince.has(pool)) this.#untakenSince.set(pool, now);
    return now - (this.#untakenSince.get(pool) ?? now);
  }

  signs(): Pick<HealthSigns, 'queue' | 'oldestMessageMs' | 'untakenMs' | 'reaper' | 'pools'> {
    return {
      queue: this.#queue,
      oldestMessageMs: this.#ageMs,
      untakenMs: this.#untakenMs,
      reaper: this.#reaper,
      pools: this.#pools,
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

const NO_QUEUE: QueueDepth = { visible: 0, inFlight: 0, delayed: 0 };

/** Of all pools together. */
const depthOf = (pools: NonNullable<HealthSigns['pools']>): QueueDepth =>
  pools.reduce(
    (sum, { queue = NO_QUEUE }) => ({
      visible: sum.visible + queue.visible,
      inFlight: sum.inFlight + queue.inFlight,
      delayed: sum.delayed + queue.delayed,
    }),
    NO_QUEUE,
  );
