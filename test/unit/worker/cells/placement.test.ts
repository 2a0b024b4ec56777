import { describe, expect, it } from 'vitest';
import { cellFor, cellsWanted, fits } from '../../../../lib/worker/cells/host/placement.ts';
import { cellRun, stubWork } from '../../../support/stub-work.ts';

const SHARE = 3;

/** A cell with a job for each of these marks. */
const cell = (
  marks: readonly (number | undefined)[] = [],
  given: { used?: number; serves?: boolean } = {},
) => ({
  canServe: () => given.serves ?? true,
  used: () => given.used ?? marks.length,
  runs: new Map(marks.map((maxInCell, run) => [run, cellRun(run, { work: stubWork({ maxInCell }) })])),
});
const unmarked = {};
const marked = (maxInCell: number) => ({ maxInCell });

describe('a job that is not marked', () => {
  it.each<[string, ReturnType<typeof cell>, boolean]>([
    ['goes to an idle cell', cell(), true],
    ['goes to a cell with room', cell([undefined, undefined]), true],
    ['goes to no full cell', cell([undefined, undefined, undefined]), false],
    ['goes to no cell with a marked job', cell([2]), false],
    ['goes to no cell that cannot serve', cell([], { serves: false }), false],
  ])('%s', (_, place, does) => expect(fits(place, unmarked, SHARE)).toBe(does));

  it('goes to the least busy cell', () => {
    const cells = [cell([undefined, undefined]), cell([undefined]), cell([undefined, undefined])];
    expect(cellFor(cells, unmarked, SHARE)).toBe(cells[1]);
    expect(cellFor(cells, unmarked, SHARE, cells[1])).toBe(cells[0]);
    expect(cellFor([cell([2])], unmarked, SHARE)).toBeUndefined();
  });
});

describe('a marked job', () => {
  it.each<[string, ReturnType<typeof cell>, number, boolean]>([
    ['goes to an idle cell, also one that was used', cell([], { used: 5 }), 2, true],
    ['goes to a cell with marked jobs', cell([3, 3]), 3, true],
    ['goes to no cell with a job that is not marked', cell([undefined]), 5, false],
    ['is one of as many as it allows', cell([5, 5]), 2, false],
    ['is one of as many as each of the others allows', cell([5, 2]), 5, false],
    ['goes to no cell that cannot serve', cell([], { serves: false }), 2, false],
  ])('%s', (_, place, most, does) => expect(fits(place, marked(most), SHARE)).toBe(does));

  it('goes to the fullest cell, which leaves idle ones to others', () => {
    const cells = [cell(), cell([9, 9]), cell([9])];
    expect(cellFor(cells, marked(9), SHARE)).toBe(cells[1]);
  });

  it.each<[string, ReturnType<typeof cell>, boolean]>([
    ['takes a cell that no job has used', cell(), true],
    ['takes no cell that a job has used', cell([], { used: 1 }), false],
    ['takes no cell with a marked job', cell([9]), false],
  ])('that must be alone %s', (_, place, does) => expect(fits(place, marked(1), SHARE)).toBe(does));

  it('that is alone keeps others out', () => {
    expect(fits(cell([1]), marked(9), SHARE)).toBe(false);
    expect(fits(cell([1]), unmarked, SHARE)).toBe(false);
  });
});

it('jobs that wait want a cell for each that must be alone, as many as share for other marks, and one for the rest', () => {
  expect(cellsWanted([])).toBe(0);
  expect(cellsWanted([unmarked, unmarked])).toBe(1);
  expect(cellsWanted([marked(1), marked(1), marked(1)])).toBe(3);
  expect(cellsWanted([marked(3), marked(3), marked(3), marked(3)])).toBe(2);
  expect(cellsWanted([unmarked, marked(1), marked(2), marked(2)])).toBe(3);
});
