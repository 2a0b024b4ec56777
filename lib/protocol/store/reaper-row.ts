import { LEADER_KEY } from '../../wire/table.ts';
import type { Clock, Table } from '../ports.ts';
import { raiseShardsWrite } from '../writes/leader-writes.ts';
import type { Row } from '../writes/row-write.ts';
import { armWakeWrite, keepBreakerWrite, type NextSweep, renewWakeWrite } from '../writes/wake-writes.ts';

/** What the reapers' own row says, as far as it can be read: anybody may have edited it. */
export interface ReaperRow {
  /** The message that starts the next sweep. Undefined where none was ever sent. */
  readonly wake: string | undefined;
  /** When that sweep was promised. */
  readonly wakeAt: number | undefined;
  /** Until when a reaper in a process leads, if one does. */
  readonly leaderUntil: number | undefined;
  /** A sweep left lapsed rows behind because most leases had lapsed at once. */
  readonly breakerOpen: boolean;
  /** When the live leases were last counted. */
  readonly gaugedAt: number;
  /** The highest number of shards ever used. */
  readonly shards: number;
}

/** How a reaper that ends after its sweep reads and keeps its place. */
export interface ReaperPlace {
  /** What the row says. Also raises the number of shards that it keeps, where the settings have more. */
  read(): Promise<ReaperRow>;
  /** Promises the next sweep. False where another reaper has since `seen` was read. */
  arm(next: NextSweep, seen: string | undefined): Promise<boolean>;
  /** Puts the promise off. */
  renew(wake: string, wakeAt: number): Promise<void>;
  keepBreaker(open: boolean): Promise<void>;
}

export function createReaperPlace(options: {
  readonly table: Pick<Table, 'apply' | 'read'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly settings: { readonly shards: number };
}): ReaperPlace {
  const { table, clock, settings } = options;
  return {
    async read() {
      const row = parseReaperRow(await table.read(LEADER_KEY));
      if (row.shards > 0 && row.shards < settings.shards)
        await table.apply(raiseShardsWrite(settings.shards));
      return { ...row, shards: Math.max(row.shards, settings.shards) };
    },
    async arm(next, seen) {
      const result = await table.apply(
        armWakeWrite(next, { seen, now: clock.now(), shards: settings.shards }),
      );
      // The SDK repeats a write whose reply was lost, and the repeat is refused by the first.
      return result.applied || result.row?.wake === next.wake;
    },
    async renew(wake, wakeAt) {
      await table.apply(renewWakeWrite(wake, wakeAt));
    },
    async keepBreaker(open) {
      await table.apply(keepBreakerWrite(open));
    },
  };
}

const parseReaperRow = (row: Row | undefined): ReaperRow => ({
  wake: typeof row?.wake === 'string' ? row.wake : undefined,
  wakeAt: numberIn(row?.wakeAt),
  leaderUntil: numberIn(row?.leaderUntil),
  breakerOpen: row?.breakerOpen === true,
  gaugedAt: numberIn(row?.gaugedAt) ?? 0,
  shards: numberIn(row?.shards) ?? 0,
});

const numberIn = (value: unknown): number | undefined =>
  Number.isFinite(value) ? (value as number) : undefined;
