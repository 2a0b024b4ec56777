import { declarations } from '../../settings/settings.ts';
import { LEADER_KEY } from '../../wire/table.ts';
import type { Clock, Table } from '../ports.ts';
import { type NextSweep, raiseShardsWrite, scheduleNextWrite } from '../writes/reaper-row-writes.ts';
import type { Row } from '../writes/row-write.ts';

/** The next sweep and its holder. It only saves work: sweeps are correct with any number of reapers. */
export interface ReaperRow
  extends Partial<Pick<NextSweep, 'wake' | 'wakeAt' | 'holder'>>,
    Pick<NextSweep, 'term' | 'gaugedAt' | 'wholeAt'> {
  /** The highest number of shards ever used. */
  readonly shards: number;
  readonly ledAt?: number;
}

interface Parts {
  readonly table: Pick<Table, 'apply' | 'read'>;
  readonly settings: { readonly shards: number };
}

/** Raises the stored number of shards to the configured one. */
export async function readReaperRow({ table, settings }: Parts): Promise<ReaperRow> {
  const row = parseReaperRow(await table.read(LEADER_KEY));
  if (row.shards > 0 && row.shards < settings.shards) await table.apply(raiseShardsWrite(settings.shards));
  return { ...row, shards: Math.max(row.shards, settings.shards) };
}

/** False if another reaper has promised since `seen` was read. */
export async function scheduleNext(
  { table, clock, settings }: Parts & { readonly clock: Pick<Clock, 'now'> },
  next: NextSweep,
  seen: string | undefined,
): Promise<boolean> {
  const write = scheduleNextWrite(next, { seen, now: clock.now(), shards: settings.shards });
  const result = await table.apply(write);
  // After a lost reply, the first write refuses the SDK's repeat.
  return result.applied || result.row?.wake === next.wake;
}

export const parseReaperRow = (row: Row | undefined): ReaperRow => ({
  wake: textIn(row?.wake),
  wakeAt: numberIn(row?.wakeAt),
  holder: textIn(row?.holder),
  ledAt: numberIn(row?.ledAt),
  term: numberIn(row?.term) ?? 0,
  gaugedAt: numberIn(row?.gaugedAt) ?? 0,
  wholeAt: numberIn(row?.wholeAt) ?? 0,
  shards: shardsIn(row?.shards),
});

const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const numberIn = (value: unknown): number | undefined =>
  Number.isFinite(value) ? (value as number) : undefined;

/** Ignores a hand-edited number that would make sweeps endless or hide new jobs. */
const shardsIn = (value: unknown): number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= declarations.shards.max
    ? Number(value)
    : 0;
