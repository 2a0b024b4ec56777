import { describe, expect, it } from 'vitest';
import type { RunEnd } from '../../../../lib/worker/cells/cells.ts';
import type { FromCell } from '../../../../lib/worker/cells/channel.ts';
import { puppetStage as stage } from '../../../support/puppet-cell.ts';

const READY: FromCell = { kind: 'ready', types: [{ type: 'work' }] };
const threw: RunEnd = { kind: 'threw', error: { text: 'no', loggable: 'no', retryable: true } };
const ended = (run: number, end: Extract<FromCell, { kind: 'ended' }>['end']): FromCell => ({
  ...{ kind: 'ended', run, end },
});

describe('what a cell is used for', () => {
  it('wears it out: five failures of its runs in a row, until one returns', () => {
    const { cell, puppet, start } = stage();
    for (const run of [1, 2, 3, 4, 5, 6]) start(run);
    puppet.send(ended(1, threw), ended(2, threw), ended(3, threw), ended(4, threw));
    puppet.send(ended(9, threw), ended(9, { kind: 'returned' }), ended(1, threw));
    expect(cell.isWorn()).toBe(false);
    puppet.send(ended(5, threw));
    expect(cell.isWorn()).toBe(true);
    puppet.send(ended(6, { kind: 'returned' }));
    expect(cell.isWorn()).toBe(false);
  });

  it.each([
    [700, false],
    [701, true],
  ])('wears it: memory %i of 1000 is much (%s)', (memory, isWorn) => {
    const { cell, puppet } = stage();
    puppet.shown.memory = memory;
    expect(cell.isWorn()).toBe(isWorn);
  });

  it('takes back what it did not begin within a second, and is given nothing until its pulse moves', () => {
    const { cell, puppet, told, start } = stage();
    puppet.send(READY);
    const ends = start(1);
    for (let ticks = 0; ticks < 4; ticks++) cell.tick();
    expect(ends).toEqual([]);
    cell.tick();
    expect([ends, told.freed]).toEqual([['unstarted'], 1]);
    expect([cell.runs.size, cell.canServe(), cell.needsTicks()]).toEqual([0, false, true]);
    puppet.shown.pulse = 1;
    cell.tick();
    expect([cell.canServe(), cell.needsTicks()]).toEqual([true, false]);
  });
});

describe('a cell beyond its limits', () => {
  it('is ended when its pulse was missing for longer than a handler may block', () => {
    const { cell, puppet, start } = stage();
    puppet.send(READY);
    start(1);
    puppet.begin(1);
    for (let ticks = 0; ticks < 10; ticks++) cell.tick();
    expect(puppet.done.ended).toBe(0);
    cell.tick();
    expect([puppet.done.ended, cell.isEnding()]).toEqual([1, true]);
    cell.tick();
    expect(puppet.done.ended).toBe(1);
  });

  it('is ended before its memory is exhausted', () => {
    const { cell, puppet } = stage();
    puppet.shown.memory = 950;
    cell.tick();
    expect(puppet.done.ended).toBe(0);
    puppet.shown.memory = 951;
    cell.tick();
    expect(puppet.done.ended).toBe(1);
  });
});
