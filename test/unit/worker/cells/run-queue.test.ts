import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../../lib/testing/fake-clock.ts';
import { type AbortReason, Cancelled, ShuttingDown } from '../../../../lib/worker/abort-reasons.ts';
import type { RunEnd, Work } from '../../../../lib/worker/cells/cells.ts';
import type { Cell } from '../../../../lib/worker/cells/host/cell.ts';
import { createRunQueue } from '../../../../lib/worker/cells/host/run-queue.ts';
import { stubWork } from '../../../support/stub-work.ts';

const flushed = () => new Promise((resolve) => setImmediate(resolve));

/** A cell that keeps what it was given. */
const keptCell = () => {
  const runs = new Map<number, (end: RunEnd | 'unstarted') => void>();
  const aborted: (readonly [number, AbortReason])[] = [];
  const killed: string[] = [];
  const cell = {
    run: (run: number, _: Work, settle: (end: RunEnd | 'unstarted') => void) => void runs.set(run, settle),
    abort: (run: number, reason: AbortReason) => void aborted.push([run, reason]),
    kill: (why: string) => void killed.push(why),
  } as Partial<Cell> as Cell;
  return { cell, runs, aborted, killed };
};

const stage = () => {
  const clock = createFakeClock();
  const kept = keptCell();
  const is = { room: true, waits: 0 };
  const place = () => queue.place(() => (is.room ? kept.cell : undefined));
  const queue = createRunQueue(clock, () => {
    is.waits += 1;
    place();
  });
  const start = (work = stubWork()) => {
    const ends: RunEnd[] = [];
    const run = queue.start(work);
    void run.end.then((end) => ends.push(end));
    return { ...run, ends };
  };
  return { ...kept, clock, is, queue, place, start };
};

describe('a job that wants a cell', () => {
  it('is given up after half a minute, and not a tick earlier', async () => {
    const { start, clock, queue, is } = stage();
    is.room = false;
    const first = start();
    await clock.advance(1);
    const second = start();
    await clock.advance(29_999);
    queue.expire();
    await flushed();
    expect([first.ends, second.ends]).toEqual([[], []]);
    await clock.advance(1);
    queue.expire();
    await flushed();
    expect([first.ends, second.ends]).toEqual([[{ kind: 'unplaced', cause: 'no cell had room for it' }], []]);
    expect(queue.jobs()).not.toEqual([]);
  });
});

describe('a run that was not begun', () => {
  it('goes to another cell under another number', async () => {
    const { start, runs, aborted } = stage();
    const { ends } = start();
    runs.get(1)?.('unstarted');
    expect([...runs.keys()]).toEqual([1, 2]);
    runs.get(2)?.({ kind: 'returned' });
    await flushed();
    expect(ends).toEqual([{ kind: 'returned' }]);
    expect(aborted).toEqual([]);
  });

  it('and is to stop ends as if it had stopped', async () => {
    const { start, runs, aborted } = stage();
    const { ends, abort } = start();
    const reason = new ShuttingDown('shutdown');
    abort(reason);
    expect(aborted).toEqual([[1, reason]]);
    runs.get(1)?.('unstarted');
    await flushed();
    expect(ends).toMatchObject([{ kind: 'threw', error: { retryable: true } }]);
    expect((ends[0] as { error: { text: string } }).error.text).toMatch(/shutting down/);
    expect([...runs.keys()]).toEqual([1]);
  });

  it('and is stopped while it waits for a cell never starts, and leaves the others', async () => {
    const { start, runs, aborted, is, place } = stage();
    is.room = false;
    const other = start();
    const { abort, ends } = start();
    abort(new Cancelled());
    is.room = true;
    place();
    await flushed();
    expect([...runs.keys()]).toEqual([1]);
    expect(ends).toMatchObject([{ kind: 'threw', error: { retryable: true } }]);
    expect((ends[0] as { error: { text: string } }).error.text).toMatch(/an operator cancelled/);
    expect([other.ends, aborted]).toEqual([[], []]);
    abort(new Cancelled());
    expect(ends).toHaveLength(1);
  });
});

describe('a run that must end', () => {
  it('just leaves the queue where it has no cell yet, and leaves the others', async () => {
    const { start, killed, is, queue } = stage();
    is.room = false;
    const other = start();
    const { kill, ends } = start();
    kill();
    await flushed();
    expect(killed).toEqual([]);
    expect(ends).toEqual([{ kind: 'unplaced', cause: 'it was ended before it began' }]);
    expect(other.ends).toEqual([]);
    expect(queue.jobs()).not.toEqual([]);
  });
});
