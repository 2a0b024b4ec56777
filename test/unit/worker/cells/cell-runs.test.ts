import { describe, expect, it } from 'vitest';
import { createHandClock } from '../../../../lib/testing/hand-clock.ts';
import { Cancelled } from '../../../../lib/worker/abort-reasons.ts';
import type { Kept, RunEnd, Work } from '../../../../lib/worker/cells/cells.ts';
import type { ToCell } from '../../../../lib/worker/cells/channel.ts';
import { createCellRuns } from '../../../../lib/worker/cells/host/cell-runs.ts';
import { WITHDRAWN } from '../../../../lib/worker/cells/revocation.ts';
import type { HostSlate, SlotEntry } from '../../../../lib/worker/cells/slate.ts';
import { LeaseClock, readClock } from '../../../../lib/worker/run/lease-clock.ts';
import { stubWork } from '../../../support/stub-cell.ts';

const stage = () => {
  const said: ToCell[] = [];
  const slots = new Map<number, SlotEntry>();
  const signs = new Map<number, { started: number; progress: number }>();
  let left = 0;
  const slate = {
    write: (slot: number, entry: SlotEntry) => void slots.set(slot, entry),
    slotSigns: (slot: number) => signs.get(slot) ?? { started: 0, progress: 0 },
  } as unknown as HostSlate;
  const runs = createCellRuns({
    ...{ cell: 7, slate, pulseMs: 250, say: (message) => void said.push(message) },
    onLeft: () => {
      left += 1;
    },
  });
  const start = (run: number, work: Partial<Work> = {}) => {
    const ends: (RunEnd | 'unstarted')[] = [];
    runs.start(run, stubWork(work), (end) => void ends.push(end));
    return ends;
  };
  return { runs, start, said, slots, signs, left: () => left };
};

describe('a run that is handed to a cell', () => {
  it('has a slot with its lease, and is told all that its handler needs', () => {
    const { start, said, slots } = stage();
    start(11, { origin: { requestId: 'r', traceId: 't' } });
    expect(slots.get(0)).toMatchObject({ run: 11, revoked: 0, detail: 0, leaseMs: 60_000 });
    expect(said).toEqual([
      {
        ...{ kind: 'run', run: 11, slot: 0, pulseMs: 250, progressIntervalMs: 1000, checked: undefined },
        ...{ requestId: 'r', traceId: 't' },
        job: {
          ...{ jobId: 'job', type: 'work', payload: '{"n":1}', checkpoint: undefined, attempt: 3 },
          ...{ errors: 1, crashes: 2, releases: 4, createdAt: 5, trace: undefined },
        },
      },
    ]);
  });

  it('brings its checkpoint as text, and no payload to the cell that has checked it', () => {
    const { start, said } = stage();
    const job = { ...stubWork().job, checkpoint: { page: 4 } };
    start(1, { job, checked: { cell: 7, check: 5 } });
    expect(said[0]).toMatchObject({ checked: 5, job: { payload: undefined, checkpoint: '{"page":4}' } });
    start(2, { job, checked: { cell: 8, check: 5 } });
    expect(said[1]).toMatchObject({ checked: undefined, job: { payload: '{"n":1}' } });
  });

  it('is given the first free slot', () => {
    const { runs, start, slots } = stage();
    for (const run of [1, 2, 3]) start(run);
    expect([0, 1, 2].map((slot) => slots.get(slot)?.run)).toEqual([1, 2, 3]);
    runs.leave(2, { kind: 'returned' });
    start(4);
    start(5);
    expect([0, 1, 2, 3].map((slot) => slots.get(slot)?.run)).toEqual([1, 4, 3, 5]);
  });

  it('has its slot written anew with every renewal of its lease, until it has left', async () => {
    const { runs, start, slots } = stage();
    const clock = createHandClock();
    const lease = new LeaseClock(clock, readClock(clock), 60_000);
    start(1, { lease });
    runs.abort(1, new Cancelled());
    lease.renew({ wall: 5, monotonic: 6 }, 7);
    expect(slots.get(0)).toMatchObject({
      ...{ run: 1, revoked: 4, leaseMs: 7 },
      grantedAt: { wall: 5, monotonic: 6 },
    });
    runs.leave(1, { kind: 'returned' });
    lease.renew({ wall: 50, monotonic: 60 }, 70);
    expect(slots.get(0)).toMatchObject({ run: 1, leaseMs: 7 });
  });
});

describe('a run that is over', () => {
  it('settles once, is told apart from its successor, and frees its slot', () => {
    const { runs, start, slots, left } = stage();
    const ends = start(1);
    runs.leave(1, { kind: 'returned', result: '1' });
    runs.leave(1, { kind: 'returned', result: '2' });
    expect([ends, left(), runs.all.size]).toEqual([[{ kind: 'returned', result: '1' }], 1, 0]);
    start(2);
    expect(slots.get(0)).toMatchObject({ run: 2, revoked: 0 });
  });

  it('counts as left alone only where it was taken back', () => {
    const { runs, start } = stage();
    const ends = start(1);
    runs.leaveUnstarted(1);
    runs.leaveUnstarted(99);
    expect(ends).toEqual([]);
    runs.abort(1, new Cancelled());
    runs.leaveUnstarted(1);
    expect(ends).toEqual(['unstarted']);
  });
});

describe('a run that is to stop', () => {
  it('finds why on its slate and in its messages', () => {
    const { runs, start, slots, said } = stage();
    start(1);
    runs.abort(1, new Cancelled());
    expect(slots.get(0)).toMatchObject({ run: 1, revoked: 4, detail: 0 });
    expect(said.at(-1)).toEqual({ kind: 'abort', run: 1, reason: { revoked: 4, detail: 0 } });
  });

  it('and is not here is left to others', () => {
    const { runs, said, slots } = stage();
    runs.abort(1, new Cancelled());
    expect(runs.revokeUnstarted(1)).toBe(false);
    expect([said, slots.size]).toEqual([[], 0]);
  });
});

describe('a run that is taken back', () => {
  it('goes elsewhere where it has not begun', () => {
    const { runs, start, slots } = stage();
    const ends = start(1);
    expect(runs.revokeUnstarted(1)).toBe(true);
    expect([ends, runs.all.size]).toEqual([['unstarted'], 0]);
    expect(slots.get(0)).toMatchObject(WITHDRAWN);
  });

  it('stays where it has begun, however lately', () => {
    const { runs, start, slots, signs } = stage();
    const ends = start(1);
    signs.set(0, { started: 1, progress: 0 });
    expect(runs.revokeUnstarted(1)).toBe(false);
    expect([ends, runs.all.size]).toEqual([[], 1]);
    expect(slots.get(0)).toMatchObject(WITHDRAWN);
  });
});

describe('what a handler saves', () => {
  it('is stored one at a time, and answered', async () => {
    const { runs, start, said } = stage();
    const kept: Kept[] = [];
    const stored = Promise.withResolvers<'written' | 'lost'>();
    start(1, {
      save(given) {
        kept.push(given);
        return kept.length === 1 ? stored.promise : Promise.resolve('lost');
      },
    });
    const first = runs.save({ kind: 'save', run: 1, checkpoint: '1', progress: '2' });
    await runs.save({ kind: 'save', run: 1, checkpoint: '3' });
    expect(kept).toEqual([{ checkpoint: '1', progress: '2' }]);
    stored.resolve('written');
    await first;
    expect(said.slice(1)).toEqual([{ kind: 'saved', run: 1, outcome: 'written' }]);
    await runs.save({ kind: 'save', run: 1, checkpoint: '4' });
    expect(kept).toHaveLength(2);
    expect(said.at(-1)).toEqual({ kind: 'saved', run: 1, outcome: 'lost' });
  });

  it.each([
    [new Error('no answer'), 'no answer'],
    ['no answer', 'no answer'],
  ])('is answered with what went wrong', async (thrown, failed) => {
    const { runs, start, said } = stage();
    start(1, { save: () => Promise.reject(thrown) });
    await runs.save({ kind: 'save', run: 1, checkpoint: '1' });
    expect(said.at(-1)).toEqual({ kind: 'saved', run: 1, outcome: { failed } });
  });

  it('is not answered to a run that has left, nor stored for one that is not here', async () => {
    const { runs, start, said } = stage();
    const stored = Promise.withResolvers<'written'>();
    start(1, { save: () => stored.promise });
    const saving = runs.save({ kind: 'save', run: 1, checkpoint: '1' });
    runs.leave(1, { kind: 'returned' });
    stored.resolve('written');
    await saving;
    await runs.save({ kind: 'save', run: 2, checkpoint: '1' });
    expect(said.map(({ kind }) => kind)).toEqual(['run']);
  });
});

describe('a look at the slate', () => {
  it('sees which runs have begun, and which made progress since', () => {
    const { runs, start, signs } = stage();
    let progress = 0;
    const onProgress = () => {
      progress += 1;
    };
    // Of the run that had the slot before.
    signs.set(0, { started: 8, progress: 3 });
    start(1, { onProgress });
    start(2);
    runs.look();
    expect([[...runs.all.values()].map(({ started }) => started), progress]).toEqual([[false, false], 0]);
    signs.set(0, { started: 1, progress: 4 });
    runs.look();
    runs.look();
    expect([[...runs.all.values()].map(({ started }) => started), progress]).toEqual([[true, false], 1]);
    // It stays begun, whatever a dying cell writes.
    signs.set(0, { started: 0, progress: 4 });
    runs.look();
    expect([...runs.all.values()][0]).toMatchObject({ started: true });
  });
});
