import { describe, expect, it } from 'vitest';
import { createHandClock } from '../../../../lib/testing/hand-clock.ts';
import { Cancelled, ShuttingDown } from '../../../../lib/worker/abort-reasons.ts';
import type { KilledFor, RunEnd, Work } from '../../../../lib/worker/cells/cells.ts';
import type { Home, Homes } from '../../../../lib/worker/cells/host/homes.ts';
import { createRunQueue } from '../../../../lib/worker/cells/host/run-queue.ts';
import { stubCell, stubHome, stubWork } from '../../../support/stub-cell.ts';

const flushed = () => new Promise((resolve) => setImmediate(resolve));

const stage = () => {
  const clock = createHandClock();
  const cell = stubCell(1);
  const home = stubHome(cell);
  const ended: (readonly [Home, KilledFor, number])[] = [];
  const unreserved: number[][] = [];
  const asked: { readonly run: number; readonly work: Work }[] = [];
  const is = { room: true, waits: 0 };
  let runs = 0;
  const homes = {
    homeFor(waiting: { readonly run: number; readonly work: Work }) {
      asked.push(waiting);
      return is.room ? home : undefined;
    },
    unreserve: (left: readonly { readonly run: number }[]) =>
      void unreserved.push(left.map(({ run }) => run)),
    ofRun: (run: number) => (cell.runs.has(run) ? home : undefined),
  } as unknown as Homes;
  const queue = createRunQueue({
    ...{ clock, homes, newRun: () => ++runs },
    onWaiting: () => {
      is.waits += 1;
      queue.place();
    },
    end: async (...given) => void ended.push(given),
  });
  const start = (work = stubWork()) => {
    const ends: RunEnd[] = [];
    const run = queue.start(work);
    void run.end.then((end) => ends.push(end));
    return { ...run, ends };
  };
  return { clock, cell, home, ended, unreserved, asked, is, queue, start };
};

describe('a job that wants a cell', () => {
  it('gets one at once where there is room, and ends as its run does', async () => {
    const { start, cell, queue, is, unreserved } = stage();
    const { ends } = start();
    expect(is.waits).toBe(1);
    expect(queue.isEmpty()).toBe(true);
    expect(unreserved).toEqual([[]]);
    cell.runs.get(1)?.settle({ kind: 'returned', result: '1' });
    await flushed();
    expect(ends).toEqual([{ kind: 'returned', result: '1' }]);
  });

  it('waits for room, in its order', async () => {
    const { start, cell, queue, is, unreserved } = stage();
    is.room = false;
    start();
    start();
    expect(queue.isEmpty()).toBe(false);
    expect([...cell.runs.keys()]).toEqual([]);
    expect(unreserved.at(-1)).toEqual([1, 2]);
    is.room = true;
    queue.place();
    expect([...cell.runs.keys()]).toEqual([1, 2]);
    expect(queue.isEmpty()).toBe(true);
  });

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
    expect(queue.isEmpty()).toBe(false);
  });

  it('is given up with all others when there will be no cell', async () => {
    const { start, queue, is } = stage();
    is.room = false;
    const all = [start(), start()];
    queue.giveUp('the module cannot be loaded');
    await flushed();
    for (const { ends } of all)
      expect(ends).toEqual([{ kind: 'unplaced', cause: 'the module cannot be loaded' }]);
    expect(queue.isEmpty()).toBe(true);
  });
});

describe('a run that was not begun', () => {
  it('goes to another cell under another number, with its payload', async () => {
    const { start, cell, asked } = stage();
    const { ends } = start(stubWork({ checked: { cell: 1, check: 4 } }));
    expect(asked[0]?.work.checked).toEqual({ cell: 1, check: 4 });
    const first = cell.runs.get(1);
    cell.runs.delete(1);
    first?.settle('unstarted');
    expect([...cell.runs.keys()]).toEqual([2]);
    expect(asked[1]).toMatchObject({ run: 2, work: { checked: undefined } });
    cell.runs.get(2)?.settle({ kind: 'returned' });
    await flushed();
    expect(ends).toEqual([{ kind: 'returned' }]);
    expect(cell.aborted).toEqual([]);
  });

  it('and is to stop ends as if it had stopped', async () => {
    const { start, cell } = stage();
    const { ends, abort } = start();
    const reason = new ShuttingDown('shutdown');
    abort(reason);
    expect(cell.aborted).toEqual([[1, reason]]);
    const run = cell.runs.get(1);
    cell.runs.delete(1);
    run?.settle('unstarted');
    await flushed();
    expect(ends).toMatchObject([{ kind: 'threw', error: { retryable: true } }]);
    expect((ends[0] as { error: { text: string } }).error.text).toMatch(/shutting down/);
    expect([...cell.runs.keys()]).toEqual([]);
  });

  it('and is told to stop while it waits for a cell never begins, and leaves the others', async () => {
    const { start, cell, is, queue } = stage();
    is.room = false;
    const other = start();
    const { abort, ends } = start();
    abort(new Cancelled());
    is.room = true;
    queue.place();
    await flushed();
    expect([...cell.runs.keys()]).toEqual([1]);
    expect(ends).toMatchObject([{ kind: 'threw', error: { retryable: true } }]);
    expect((ends[0] as { error: { text: string } }).error.text).toMatch(/an operator cancelled/);
    expect([other.ends, cell.aborted]).toEqual([[], []]);
    abort(new Cancelled());
    expect(ends).toHaveLength(1);
  });
});

describe('a run that is to be ended', () => {
  it('takes its cell with it', async () => {
    const { start, ended, home } = stage();
    const { kill, ends } = start();
    kill('ignored signal');
    await flushed();
    expect(ended).toEqual([[home, 'ignored signal', 1]]);
    expect(ends).toEqual([]);
  });

  it('just leaves the queue where it has no cell yet, and leaves the others', async () => {
    const { start, ended, is, queue } = stage();
    is.room = false;
    const other = start();
    const { kill, ends } = start();
    kill('ignored signal');
    await flushed();
    expect(ended).toEqual([]);
    expect(ends).toEqual([{ kind: 'unplaced', cause: 'it was ended before it began' }]);
    expect(other.ends).toEqual([]);
    expect(queue.isEmpty()).toBe(false);
  });
});
