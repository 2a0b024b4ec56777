import { expect, it } from 'vitest';
import { readReaperRow, scheduleNext } from '../../lib/protocol/store/reaper-row.ts';
import { releaseWakeWrite, renewWakeWrite } from '../../lib/protocol/writes/reaper-row-writes.ts';
import { LEADER_KEY } from '../../lib/wire/table.ts';
import type { Harness } from './harness.ts';

const promised = { holder: 'r', term: 1, gaugedAt: 1, wholeAt: 1 };

/** The reaper's own row, as reapers that wake one another use it: each write, and the case in which it is refused. */
export function describeReaperRow(open: () => Harness): void {
  const setUp = async () => {
    const { table, clock, put } = open();
    await put({ jobId: LEADER_KEY, shards: 4 });
    const parts = { table, clock, settings: { shards: 4 } };
    const arm = (wake: string, wakeAt: number, seen?: string) =>
      scheduleNext(parts, { ...promised, wake, wakeAt }, seen);
    const row = async () => table.read(LEADER_KEY);
    return { parts, table, arm, row };
  };

  it('a wake is scheduled once, by the reaper that read the previous one', async () => {
    const { parts, arm, row } = await setUp();
    expect(await readReaperRow(parts)).toMatchObject({ wake: undefined, wakeAt: undefined });
    expect(await arm('a', 10)).toBe(true);
    expect(await arm('b', 20)).toBe(false);
    expect(await arm('b', 20, 'z')).toBe(false);
    expect(await arm('b', 20, 'a')).toBe(true);
    // The repeat of a write whose reply was lost.
    expect(await arm('b', 20, 'a')).toBe(true);
    expect(await row()).toMatchObject({ wake: 'b', wakeAt: 20, shards: 4 });
  });

  it('a wake is put off by its own reaper, and never brought forward', async () => {
    const { table, arm, row } = await setUp();
    await arm('a', 10);
    await table.apply(renewWakeWrite('z', 30));
    await table.apply(renewWakeWrite('a', 5));
    expect(await row()).toMatchObject({ wakeAt: 10 });
    await table.apply(renewWakeWrite('a', 30));
    expect(await row()).toMatchObject({ wakeAt: 30 });
  });
  it('a promise is released by its holder alone', async () => {
    const { parts, table, arm, row } = await setUp();
    await arm('a', 10);
    await table.apply(releaseWakeWrite('other'));
    expect(await row()).toMatchObject({ holder: 'r' });
    await table.apply(releaseWakeWrite('r'));
    expect(await readReaperRow(parts)).toMatchObject({ holder: undefined, wake: 'a', wakeAt: 10, term: 1 });
  });
}
