import { describe, expect, it } from 'vitest';
import type { Suspicion } from '../../../../lib/worker/cells/cells.ts';
import { createHomes, type Home } from '../../../../lib/worker/cells/host/homes.ts';
import { cellRun, type StubCell, stubCell, stubWork } from '../../../support/stub-cell.ts';

const stage = (given: { readonly share?: number; readonly most?: number; readonly ready?: boolean } = {}) => {
  const { share = 2, most = 4, ready = true } = given;
  const cells: StubCell[] = [];
  const homes = createHomes({
    ...{ share, most },
    start() {
      const cell = stubCell(cells.length + 1, { ready });
      cells.push(cell);
      return cell;
    },
  });
  const idOf = (home: Home | undefined) => home?.cell.id;
  return {
    ...{ homes, cells },
    spawn: (count: number) => Array.from({ length: count }, () => homes.spawn()),
    cell: (id: number) => cells[id - 1] as StubCell,
    /** Puts a run into a cell. */
    busy: (id: number, ...runs: readonly number[]) => {
      for (const run of runs) cells[id - 1]?.run(run, stubWork(), () => {});
    },
    idOf,
    place: (run: number, suspicion?: Suspicion, checked?: { cell: number; check: number }) =>
      idOf(homes.homeFor({ run, work: stubWork({ suspicion, checked }) })),
    ids: () => homes.all().map(idOf),
  };
};

describe('a job that nobody suspects', () => {
  it('goes to the least busy cell that has room', () => {
    const { spawn, busy, place } = stage({ share: 3 });
    spawn(3);
    busy(1, 10, 11);
    busy(2, 12);
    busy(3, 13, 14);
    expect(place(20)).toBe(2);
  });

  it('goes to the cell that has its payload already, where that has room', () => {
    const { spawn, busy, place } = stage();
    spawn(2);
    busy(2, 10);
    expect(place(20, undefined, { cell: 2, check: 1 })).toBe(2);
    busy(2, 11);
    expect(place(21, undefined, { cell: 2, check: 1 })).toBe(1);
  });

  it('finds room in a cell that has many payloads to check: they are over in an instant', () => {
    const { spawn, busy, cell, place, homes, ids } = stage({ share: 2 });
    spawn(1);
    homes.spawnSpare();
    busy(1, 10);
    cell(1).state.checks = 50;
    expect(place(20)).toBe(1);
    expect(ids()).toEqual([1, 2]);
  });

  it('is checked in the same cell as the one before it while cells hold many, and in the least busy while they hold few', () => {
    const checkedIn = ({ homes, cells, idOf }: ReturnType<typeof stage>, count: number) =>
      Array.from({ length: count }, () => {
        const id = idOf(homes.forCheck()) ?? 0;
        (cells[id - 1] as StubCell).state.checks += 1;
        return id;
      });
    const large = stage({ share: 40 });
    large.spawn(2);
    expect(checkedIn(large, 22)).toEqual([...Array(10).fill(1), ...Array(12).fill(2)]);
    large.cell(2).state.retired = true;
    expect(checkedIn(large, 1)).toEqual([1]);
    const small = stage({ share: 5 });
    small.spawn(2);
    expect(checkedIn(small, 4)).toEqual([1, 2, 2, 1]);
  });

  it('goes to no cell that is full, not ready, retired, late, or there for others', () => {
    const { spawn, busy, cell, homes, place, idOf } = stage({ most: 7 });
    spawn(7);
    busy(1, 10, 11);
    cell(2).state.ready = false;
    cell(3).state.retired = true;
    cell(4).state.missed = 3;
    const [, , , , fifth, sixth] = homes.all();
    Object.assign(fifth as Home, { suspicion: { group: 1, limit: 2 } });
    Object.assign(sixth as Home, { reservedFor: 99 });
    expect(place(20)).toBe(7);
    busy(7, 12, 13);
    expect(place(21)).toBeUndefined();
    expect(homes.shared().map(idOf)).toEqual([1, 2, 4, 7]);
    cell(4).state.missed = 2;
    expect(place(22)).toBe(4);
  });

  it('takes the spare where there is no room, and only a spare that is ready', () => {
    const { spawn, busy, homes, place, cell } = stage({ most: 2 });
    spawn(1);
    busy(1, 10, 11);
    homes.spawnSpare();
    cell(2).state.ready = false;
    expect(place(20)).toBeUndefined();
    cell(2).state.ready = true;
    expect(place(20)).toBe(2);
    expect(homes.all().map(({ isSpare }) => isSpare)).toEqual([false, false]);
  });

  it('has a cell started for it where none is under way already', () => {
    const { spawn, busy, place, cell, ids } = stage();
    spawn(1);
    busy(1, 10, 11);
    expect(place(20)).toBeUndefined();
    expect(ids()).toEqual([1, 2]);
    busy(2, 12, 13);
    cell(2).state.ready = false;
    expect(place(21)).toBeUndefined();
    expect(ids()).toEqual([1, 2]);
  });

  it('has none started beyond the most there may be', () => {
    const { spawn, busy, place, ids, homes } = stage({ most: 2 });
    spawn(2);
    busy(1, 10, 11);
    busy(2, 12, 13);
    expect(place(20)).toBeUndefined();
    expect(ids()).toEqual([1, 2]);
    expect(homes.spawn()).toBeUndefined();
    homes.forget(homes.all()[0] as Home);
    expect(ids()).toEqual([2]);
    expect(place(21)).toBeUndefined();
    expect(ids()).toEqual([2, 3]);
  });
});

it('a cell that is forgotten twice takes no other with it', () => {
  const { spawn, homes, ids } = stage();
  const [, second] = spawn(3);
  homes.forget(second as Home);
  homes.forget(second as Home);
  expect(ids()).toEqual([1, 3]);
});

describe('the spare', () => {
  it('is one, and one more when it has died', () => {
    const { homes, cell, ids } = stage();
    homes.spawnSpare();
    homes.spawnSpare();
    expect(ids()).toEqual([1]);
    expect(homes.shared()).toEqual([]);
    cell(1).state.retired = true;
    homes.spawnSpare();
    expect(ids()).toEqual([1, 2]);
  });
});

describe('suspects of one death', () => {
  const group = { group: 5, limit: 2 };

  it('share cells with one another only, as many as the limit says, and two cells at most', () => {
    const { spawn, busy, place, homes } = stage({ share: 9, most: 9 });
    spawn(2);
    busy(1, 1);
    busy(2, 2);
    homes.spawnSpare();
    expect(place(10, group)).toBe(3);
    busy(3, 10);
    expect(place(11, group)).toBe(3);
    busy(3, 11);
    // The second cell is a new one: the others have been used.
    expect(place(12, group)).toBe(4);
    busy(4, 12, 13);
    expect(place(14, group)).toBeUndefined();
    expect(homes.all()).toHaveLength(4);
    expect(place(15, { group: 6, limit: 2 })).toBe(5);
    expect(place(16)).toBe(1);
  });

  it('take an idle cell that nobody has used before a new one is started', () => {
    const { spawn, busy, place, ids } = stage();
    spawn(2);
    busy(1, 1);
    expect(place(10, group)).toBe(2);
    expect(ids()).toEqual([1, 2]);
  });

  it('wait for their new cell to be ready, and keep it', () => {
    const { place, cell, ids } = stage({ ready: false });
    expect(place(10, group)).toBeUndefined();
    expect(place(10, group)).toBeUndefined();
    expect(ids()).toEqual([1, 2]);
    cell(1).state.ready = true;
    expect(place(10, group)).toBe(1);
  });

  it('wait where no cell can be had, and do not count those that are dead', () => {
    const { spawn, busy, place, cell, ids } = stage({ most: 3 });
    spawn(1);
    busy(1, 1);
    expect(place(10, group)).toBe(2);
    expect(place(11, group)).toBe(2);
    cell(2).state.retired = true;
    expect(place(12, group)).toBe(3);
    cell(3).state.retired = true;
    expect(place(13, group)).toBeUndefined();
    expect(ids()).toEqual([1, 2, 3]);
  });
});

describe('a suspect that is to be alone', () => {
  const alone = { group: 5, limit: 1 };

  it('gets a fresh cell of its own, which nobody else gets', () => {
    const { spawn, busy, place, homes, ids } = stage();
    spawn(1);
    busy(1, 1);
    homes.spawnSpare();
    expect(place(10, alone)).toBe(2);
    expect(place(10, alone)).toBe(2);
    expect(place(11, alone)).toBe(3);
    expect(place(12)).toBe(1);
    expect(ids()).toEqual([1, 2, 3]);
  });

  it('gets another where it did not begin in the one that it had', () => {
    const { place, busy } = stage();
    expect(place(10, alone)).toBe(1);
    busy(1, 10);
    expect(place(10, alone)).toBe(2);
  });

  it('gets another where its own has died', () => {
    const { place, cell } = stage();
    expect(place(10, alone)).toBe(1);
    cell(1).state.retired = true;
    expect(place(10, alone)).toBe(2);
  });

  it('waits for its cell to be ready, and for one to be free', () => {
    const { place, cell, ids } = stage({ ready: false, most: 1 });
    expect(place(10, alone)).toBeUndefined();
    expect(place(11, alone)).toBeUndefined();
    expect(ids()).toEqual([1]);
    cell(1).state.ready = true;
    expect(place(10, alone)).toBe(1);
  });
});

describe('a cell that waits for somebody', () => {
  const suspects = { group: 5, limit: 2 };
  it('is for everybody again when they do not wait any more', () => {
    const { spawn, place, homes, idOf } = stage();
    spawn(3);
    place(10, { group: 4, limit: 1 });
    place(11, suspects);
    const waiting = [10, 11].map((run) => ({
      run,
      work: stubWork(run === 11 ? { suspicion: suspects } : {}),
    }));
    homes.unreserve(waiting);
    expect(homes.shared().map(idOf)).toEqual([3]);
    homes.unreserve(waiting.slice(0, 1));
    expect(homes.shared().map(idOf)).toEqual([2, 3]);
    homes.unreserve(waiting.slice(1));
    expect(homes.shared().map(idOf)).toEqual([1, 2, 3]);
  });

  it('stays theirs while they are in it', () => {
    const { place, busy, homes } = stage();
    place(10, { group: 4, limit: 1 });
    busy(1, 10);
    place(11, suspects);
    busy(2, 11);
    homes.unreserve([]);
    expect(homes.shared()).toEqual([]);
  });
});

describe('a check', () => {
  it('goes to the least busy cell that can be asked, however full', () => {
    const { spawn, busy, homes, idOf, cell } = stage({ share: 1 });
    expect(homes.forCheck()).toBeUndefined();
    spawn(3);
    busy(1, 1, 2, 3);
    busy(2, 4, 5);
    cell(3).state.missed = 3;
    expect(idOf(homes.forCheck())).toBe(2);
  });
});

it('a cell knows its home, once it has one', () => {
  const asked: (() => Home)[] = [];
  const homes = createHomes({
    ...{ share: 1, most: 1 },
    start(home) {
      asked.push(home);
      return stubCell(1);
    },
  });
  const home = homes.spawn();
  expect(asked.map((each) => each())).toEqual([home]);
});

it('a run is found in its cell', () => {
  const { spawn, homes, cell, idOf } = stage();
  spawn(2);
  cell(2).runs.set(7, cellRun(7));
  expect(idOf(homes.ofRun(7))).toBe(2);
  expect(homes.ofRun(8)).toBeUndefined();
});
