import { describe, expect, it } from 'vitest';
import { createHandClock } from '../../../../lib/testing/hand-clock.ts';
import type { Suspicion } from '../../../../lib/worker/cells/cells.ts';
import { createCellKeeper } from '../../../../lib/worker/cells/host/cell-keeper.ts';
import { cellRun, stubCell, stubHome, stubWork } from '../../../support/stub-cell.ts';

const stage = (given: { readonly killAfterMs?: number } = {}) => {
  const clock = createHandClock();
  const keeper = createCellKeeper({
    ...{ clock, memoryBytes: 1000, tickMs: 100 },
    settings: { maxStallMs: 1000, killAfterMs: given.killAfterMs ?? 30_000 },
    suspicionOf: (jobs) => ({ group: 9, limit: jobs }),
  });
  const cell = stubCell(1);
  const retired: (readonly [number, Suspicion | undefined])[] = [];
  const add = (run: number, more: Parameters<typeof cellRun>[1] & { maxStallMs?: number } = {}) => {
    const { maxStallMs = 60_000, ...rest } = more;
    const work = stubWork({ maxStallMs, onRetired: (suspicion) => void retired.push([run, suspicion]) });
    cell.runs.set(run, cellRun(run, { work, ...rest }));
  };
  return { clock, keeper, cell, home: stubHome(cell), retired, add };
};

describe('on each tick a cell', () => {
  it('is left alone while it is well', () => {
    const { keeper, cell, home, add } = stage();
    add(1);
    cell.state.missed = 10;
    cell.state.memory = 950;
    keeper.tick(home);
    expect([cell.ticks(), cell.killed, cell.revoked, cell.isRetired()]).toEqual([1, [], [], false]);
  });

  it('is ended when its pulse was missing for longer than a handler may block', () => {
    const { keeper, cell, home } = stage();
    cell.state.missed = 11;
    keeper.tick(home);
    expect([cell.killed, cell.isRetired()]).toEqual([['stalled'], true]);
  });

  it('is ended sooner where one of its jobs may block for less', () => {
    const { keeper, cell, home, add } = stage();
    add(1);
    add(2, { maxStallMs: 500 });
    cell.state.missed = 5;
    keeper.tick(home);
    expect(cell.killed).toEqual([]);
    cell.state.missed = 6;
    keeper.tick(home);
    expect(cell.killed).toEqual(['stalled']);
  });

  it('is ended before its memory is exhausted', () => {
    const { keeper, cell, home } = stage();
    cell.state.memory = 951;
    keeper.tick(home);
    expect(cell.killed).toEqual(['memory']);
  });

  it('loses a job that it did not begin within a second', () => {
    const { keeper, cell, home, add } = stage();
    add(1, { started: false, ticks: 10 });
    add(2, { started: true, ticks: 11 });
    add(3, { started: false, ticks: 11 });
    keeper.tick(home);
    expect(cell.revoked).toEqual([3]);
  });

  it('that is being ended already is not ended again', () => {
    const { keeper, cell, home, add } = stage();
    add(1, { started: false, ticks: 99 });
    cell.state.retired = true;
    keeper.tick(home);
    cell.state.missed = 99;
    keeper.tick(home);
    expect([cell.ticks(), cell.killed, cell.revoked]).toEqual([2, [], []]);
  });
});

describe('a cell that is ended for one job', () => {
  it('waits two seconds for the others to stop, and suspects nobody', async () => {
    const { keeper, cell, home, add, retired, clock } = stage();
    for (const run of [1, 2, 3]) add(run);
    const ending = keeper.end(home, 'ignored signal', 2);
    expect(retired).toEqual([
      [1, undefined],
      [3, undefined],
    ]);
    expect([home.culprit, cell.isRetired()]).toEqual([2, true]);
    await clock.advance(1999);
    expect(cell.killed).toEqual([]);
    await clock.advance(1);
    await ending;
    expect(cell.killed).toEqual(['ignored signal']);
  });

  it('waits no longer than a handler has to heed its signal', async () => {
    const { keeper, cell, home, add, clock } = stage({ killAfterMs: 300 });
    add(1);
    add(2);
    const ending = keeper.end(home, 'ignored signal', 2);
    await clock.advance(299);
    expect(cell.killed).toEqual([]);
    await clock.advance(1);
    await ending;
    expect(cell.killed).toEqual(['ignored signal']);
  });

  it('waits for nobody where it is alone', async () => {
    const { keeper, cell, home, add, retired } = stage();
    add(2);
    await keeper.end(home, 'ignored signal', 2);
    expect([cell.killed, retired]).toEqual([['ignored signal'], []]);
  });

  it('waits for nobody where nobody can hear', async () => {
    const { keeper, cell, home, add, retired } = stage();
    add(1);
    add(2);
    cell.state.missed = 3;
    await keeper.end(home, 'stalled');
    expect([cell.killed, retired]).toEqual([['stalled'], []]);
  });

  it('is ended once', async () => {
    const { keeper, cell, home, add } = stage();
    add(2);
    await keeper.end(home, 'ignored signal', 2);
    await keeper.end(home, 'closing', 5);
    expect([cell.killed, home.culprit]).toEqual([['ignored signal'], 2]);
  });

  it('is ended as soon as nobody but that job is left', () => {
    const { keeper, cell, home, add } = stage();
    add(1);
    add(2);
    home.culprit = 2;
    keeper.endIfOnlyCulprit(home);
    expect(cell.killed).toEqual([]);
    cell.runs.delete(1);
    keeper.endIfOnlyCulprit(home);
    expect(cell.killed).toEqual(['ignored signal']);
  });
});

describe('a cell that is ended for its memory', () => {
  it('makes all of those in it suspects: any may have used it', async () => {
    const { keeper, cell, home, add, retired, clock } = stage();
    add(1);
    add(2);
    const ending = keeper.end(home, 'memory');
    expect(retired).toEqual([
      [1, { group: 9, limit: 2 }],
      [2, { group: 9, limit: 2 }],
    ]);
    await clock.advance(2000);
    await ending;
    expect(cell.killed).toEqual(['memory']);
  });

  it('does not ask the only one who can have used it', async () => {
    const { keeper, cell, home, add, retired } = stage();
    add(1);
    await keeper.end(home, 'memory');
    expect([cell.killed, retired]).toEqual([['memory'], []]);
  });
});

it.each([
  [700, 0, false],
  [701, 0, true],
  [0, 4, false],
  [0, 5, true],
])('an idle cell with memory %i of 1000 and %i failures in a row is worn: %s', (memory, failures, worn) => {
  const { keeper, cell, home } = stage();
  Object.assign(cell.state, { memory, failures });
  expect(keeper.isWorn(home)).toBe(worn);
});
