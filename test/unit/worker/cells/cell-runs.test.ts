import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../../lib/testing/fake-clock.ts';
import { Cancelled } from '../../../../lib/worker/abort-reasons.ts';
import type { Kept, RunEnd, Work } from '../../../../lib/worker/cells/cells.ts';
import type { ToCell } from '../../../../lib/worker/cells/channel.ts';
import { createCellRuns } from '../../../../lib/worker/cells/host/cell-runs.ts';
import { createSharedMemory } from '../../../../lib/worker/cells/shared-memory.ts';
import { stopNumberOf, WITHDRAWN } from '../../../../lib/worker/cells/stop-numbers.ts';
import { createLeaseClock, readClock } from '../../../../lib/worker/run/lease-clock.ts';
import { heapBytes } from '../../../support/heap-bytes.ts';
import { stubWork } from '../../../support/stub-work.ts';

const stage = () => {
  const said: ToCell[] = [];
  const bytes = heapBytes();
  /** The cell's side of it. */
  const cell = createSharedMemory(bytes);
  const runs = createCellRuns(createSharedMemory(bytes), (message) => void said.push(message));
  const start = (run: number, work: Partial<Work> = {}) => {
    const ends: (RunEnd | 'unstarted')[] = [];
    runs.start(run, stubWork(work), (end) => void ends.push(end));
    return ends;
  };
  return { runs, start, said, cell };
};

describe('a run that is handed to a cell', () => {
  it('has a slot with its lease, and receives all that its handler needs', () => {
    const { start, said, cell } = stage();
    start(11, { origin: { requestId: 'r', traceId: 't' } });
    expect(cell.granted(0)).toMatchObject({
      run: 11,
      stop: 0,
      limitMs: 0,
      endsAt: stubWork().lease.endsAt(),
    });
    expect(said).toEqual([
      {
        ...{ kind: 'run', run: 11, slot: 0, progressIntervalMs: 1000 },
        ...{ requestId: 'r', traceId: 't' },
        job: {
          ...{ jobId: 'job', type: 'work', payload: '{"n":1}', checkpoint: undefined, attempt: 3 },
          ...{ errors: 1, crashes: 2, releases: 4, createdAt: 5, trace: undefined },
        },
      },
    ]);
  });

  it('is given the first free slot', () => {
    const { runs, start, cell } = stage();
    for (const run of [1, 2, 3]) start(run);
    expect([0, 1, 2].map((slot) => cell.granted(slot).run)).toEqual([1, 2, 3]);
    runs.leave(2, { kind: 'returned' });
    start(4);
    start(5);
    expect([0, 1, 2, 3].map((slot) => cell.granted(slot).run)).toEqual([1, 4, 3, 5]);
  });

  it('has its slot written anew with every renewal of its lease, until it has left', async () => {
    const { runs, start, cell } = stage();
    const clock = createFakeClock();
    const lease = createLeaseClock(clock, readClock(clock), 60_000);
    start(1, { lease });
    runs.abort(1, new Cancelled());
    lease.renew({ wall: 5, monotonic: 6 });
    expect(cell.granted(0)).toMatchObject({
      ...{ run: 1, stop: stopNumberOf(new Cancelled()) },
      endsAt: { wall: 60_005, monotonic: 60_006 },
    });
    runs.leave(1, { kind: 'returned' });
    lease.renew({ wall: 50, monotonic: 60 });
    expect(cell.granted(0)).toMatchObject({ run: 1, endsAt: { wall: 60_005, monotonic: 60_006 } });
  });
});

describe('a run that is over', () => {
  it('settles once, is distinguished from its successor, and frees its slot', () => {
    const { runs, start, cell } = stage();
    const ends = start(1);
    runs.leave(1, { kind: 'returned', result: '1' });
    runs.leave(1, { kind: 'returned', result: '2' });
    expect([ends, runs.all.size]).toEqual([[{ kind: 'returned', result: '1' }], 0]);
    start(2);
    expect(cell.granted(0)).toMatchObject({ run: 2, stop: 0 });
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
  it('gets the message, and reads the reason from shared memory', () => {
    const { runs, start, cell, said } = stage();
    start(1);
    runs.abort(1, new Cancelled());
    expect(cell.granted(0)).toMatchObject({ run: 1, stop: stopNumberOf(new Cancelled()), limitMs: 0 });
    expect(said.at(-1)).toEqual({ kind: 'abort', run: 1 });
  });
});

describe('a run that is taken back', () => {
  it('stays where it has begun, however lately', () => {
    const { runs, start, cell } = stage();
    const ends = start(1);
    cell.begin(0, 1, 0);
    expect(runs.revokeUnstarted(1)).toBe(false);
    expect([ends, runs.all.size]).toEqual([[], 1]);
    expect(cell.granted(0)).toMatchObject({ stop: WITHDRAWN });
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

describe('a look at what the cell shows', () => {
  it('sees which runs have begun, and which made progress since', () => {
    const { runs, start, cell } = stage();
    let progress = 0;
    const onProgress = () => {
      progress += 1;
    };
    // Of the run that had the slot before.
    cell.begin(0, 8, 3);
    start(1, { onProgress });
    start(2);
    runs.look();
    expect([[...runs.all.values()].map(({ started }) => started), progress]).toEqual([[false, false], 0]);
    cell.begin(0, 1, 4);
    runs.look();
    runs.look();
    expect([[...runs.all.values()].map(({ started }) => started), progress]).toEqual([[true, false], 1]);
    // It stays begun, whatever a dying cell writes.
    cell.begin(0, 0, 4);
    runs.look();
    expect([...runs.all.values()][0]).toMatchObject({ started: true });
  });
});
