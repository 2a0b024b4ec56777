import { expect, it } from 'vitest';
import { createReaperPlace } from '../../lib/protocol/store/reaper-row.ts';
import { LEADER_KEY } from '../../lib/wire/table.ts';
import type { Harness } from './harness.ts';

/** The reaper's own row, as reapers that wake one another use it: each write, and the case in which it is refused. */
export function describeReaperRow(open: () => Harness): void {
  const setUp = async () => {
    const { table, clock, put } = open();
    await put({ jobId: LEADER_KEY, shards: 4 });
    const place = createReaperPlace({ table, clock, settings: { shards: 4 } });
    const row = async () => table.read(LEADER_KEY);
    return { place, row };
  };

  it('a wake is armed by whoever knows the one before, once', async () => {
    const { place, row } = await setUp();
    expect(await place.read()).toMatchObject({ wake: undefined, wakeAt: undefined, breakerOpen: false });
    expect(await place.arm({ wake: 'a', wakeAt: 10, gaugedAt: 1 }, undefined)).toBe(true);
    expect(await place.arm({ wake: 'b', wakeAt: 20, gaugedAt: 1 }, undefined)).toBe(false);
    expect(await place.arm({ wake: 'b', wakeAt: 20, gaugedAt: 1 }, 'z')).toBe(false);
    expect(await place.arm({ wake: 'b', wakeAt: 20, gaugedAt: 1 }, 'a')).toBe(true);
    // The repeat of a write whose reply was lost.
    expect(await place.arm({ wake: 'b', wakeAt: 20, gaugedAt: 1 }, 'a')).toBe(true);
    expect(await row()).toMatchObject({ wake: 'b', wakeAt: 20, shards: 4 });
  });

  it('a wake is put off by its own reaper, and never brought forward', async () => {
    const { place, row } = await setUp();
    await place.arm({ wake: 'a', wakeAt: 10, gaugedAt: 1 }, undefined);
    await place.renew('z', 30);
    await place.renew('a', 5);
    expect(await row()).toMatchObject({ wakeAt: 10 });
    await place.renew('a', 30);
    expect(await row()).toMatchObject({ wakeAt: 30 });
  });

  it('the breaker is kept open until it is kept closed', async () => {
    const { place } = await setUp();
    await place.keepBreaker(true);
    await place.keepBreaker(true);
    await place.arm({ wake: 'a', wakeAt: 10, gaugedAt: 1 }, undefined);
    expect(await place.read()).toMatchObject({ breakerOpen: true, wake: 'a' });
    await place.keepBreaker(false);
    expect(await place.read()).toMatchObject({ breakerOpen: false });
  });
}
