import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../../../lib/settings/settings.ts';
import { createFakeClock } from '../../../../lib/testing/fake-clock.ts';
import { Cancelled } from '../../../../lib/worker/abort-reasons.ts';
import type { RunEnd, Work } from '../../../../lib/worker/cells/cells.ts';
import type { FromCell } from '../../../../lib/worker/cells/channel.ts';
import { type CellDeath, createCell } from '../../../../lib/worker/cells/host/cell.ts';
import { puppetCell, settled } from '../../../support/puppet-cell.ts';
import { silentTelemetry } from '../../../support/silent-ports.ts';
import { stubWork } from '../../../support/stub-work.ts';

const PULSE_MS = 250;
const READY: FromCell = { kind: 'ready', types: [{ type: 'work' }] };
const threw: RunEnd = { kind: 'threw', error: { text: 'no', loggable: 'no', retryable: true } };
const ended = (run: number, end: Extract<FromCell, { kind: 'ended' }>['end']): FromCell => ({
  ...{ kind: 'ended', run, end },
});

/** A cell whose process is a puppet. What it is told goes out when the test says so, or at once. */
function stage({ isHeldBack = false } = {}) {
  const clock = createFakeClock();
  const puppet = puppetCell();
  const told = { ready: [] as unknown[], freed: 0, deaths: [] as CellDeath[] };
  const unsaid: (() => void)[] = [];
  const cell = createCell({
    ...{
      id: 7,
      process: puppet.process,
      pulseMs: PULSE_MS,
      settings: resolveSettings({ maxStallMs: 2500 }),
      clock,
    },
    ...{ defer: (run) => (isHeldBack ? void unsaid.push(run) : run()), memoryBytes: 1000 },
    onReady: (types) => void told.ready.push(types),
    standsOut: () => false,
    telemetry: silentTelemetry,
    onFreed() {
      told.freed += 1;
    },
    onDead: (death) => void told.deaths.push(death),
  });
  const start = (run: number, work: Partial<Work> = {}) => {
    const ends: (RunEnd | 'unstarted')[] = [];
    cell.run(run, stubWork(work), (end) => void ends.push(end));
    return ends;
  };
  const speak = () => {
    for (const send of unsaid.splice(0)) send();
  };
  return { cell, clock, puppet, told, start, speak };
}

describe('a cell that starts', () => {
  it('has the number that it was given, the process’s, and is ready once it says so', () => {
    const { cell, puppet, told } = stage();
    expect([cell.id, cell.pid]).toEqual([7, 4711]);
    expect([cell.isReady(), cell.isEnding()]).toEqual([false, false]);
    puppet.send(READY);
    expect([cell.isReady(), cell.isEnding()]).toEqual([true, false]);
    puppet.send(READY);
    expect(told.ready).toEqual([[{ type: 'work' }]]);
  });

  it('is not ready any more, nor for the first time, when it is being ended', () => {
    const one = stage();
    one.puppet.send(READY);
    one.cell.kill('closing');
    expect([one.cell.isReady(), one.cell.isEnding()]).toEqual([false, true]);
    const two = stage();
    two.cell.kill('closing');
    two.puppet.send(READY);
    expect([two.cell.isReady(), two.told.ready]).toEqual([false, []]);
  });
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

  it('is ended sooner where one of its jobs may block for less', () => {
    const { cell, puppet, start } = stage();
    puppet.send(READY);
    start(1);
    start(2, { maxStallMs: 500 });
    cell.tick();
    cell.tick();
    expect(puppet.done.ended).toBe(0);
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

  it('is given nothing while its pulse is late', () => {
    const { cell, puppet, start } = stage();
    expect(cell.canServe()).toBe(false);
    puppet.send(READY);
    start(1);
    puppet.begin(1);
    cell.tick();
    cell.tick();
    expect(cell.canServe()).toBe(true);
    cell.tick();
    expect(cell.canServe()).toBe(false);
    puppet.shown.pulse = 1;
    cell.tick();
    expect(cell.canServe()).toBe(true);
  });
});

describe('a tick of the host', () => {
  it('misses no pulse of a cell that is still starting', () => {
    const { cell, puppet } = stage();
    for (let ticks = 0; ticks < 20; ticks++) cell.tick();
    expect(puppet.done.ended).toBe(0);
    puppet.send(READY);
    expect(cell.canServe()).toBe(true);
  });

  it('is counted by each run, and looks at what its handler shows', () => {
    const { cell, puppet, start } = stage();
    let progress = 0;
    start(1, {
      onProgress() {
        progress += 1;
      },
    });
    cell.tick();
    start(2);
    puppet.begin(1, 1);
    cell.tick();
    expect([...cell.runs.values()].map(({ run, ticks, started }) => [run, ticks, started])).toEqual([
      [1, 2, true],
      [2, 1, false],
    ]);
    expect(progress).toBe(1);
  });

  it('looks at the memory, which is looked at between ticks only when that is a pulse ago', async () => {
    const { cell, clock, puppet } = stage();
    puppet.shown.memory = 100;
    cell.tick();
    puppet.shown.memory = 200;
    await clock.advance(PULSE_MS - 1);
    expect(cell.memory()).toBe(100);
    await clock.advance(1);
    expect(cell.memory()).toBe(200);
    puppet.shown.memory = 300;
    cell.tick();
    expect(cell.memory()).toBe(300);
  });
});

describe('a flush', () => {
  it('is over when the cell says so, and is not asked of one that was never ready', async () => {
    const { cell, puppet } = stage();
    await cell.flush();
    expect(puppet.heard).toEqual([]);
    puppet.send(READY);
    let isOver = false;
    const flushed = cell.flush().then(() => {
      isOver = true;
    });
    await settled();
    const [asked] = puppet.heard;
    expect([asked?.kind, isOver]).toEqual(['flush', false]);
    puppet.send({ kind: 'flushed', turn: asked?.kind === 'flush' ? asked.turn : -1 });
    await flushed;
  });

  it('is over when the cell dies, and is not asked of a dead one', async () => {
    const { cell, puppet, clock } = stage();
    puppet.send(READY);
    const flushed = cell.flush();
    puppet.die();
    await flushed;
    expect(clock.monotonic()).toBe(0);
    const { length } = puppet.heard;
    await cell.flush();
    expect(puppet.heard).toHaveLength(length);
  });
});

describe('messages not sent yet', () => {
  it('are sent together, and not at all if the cell has died', async () => {
    const { cell, puppet, start, speak } = stage({ isHeldBack: true });
    start(1);
    cell.abort(1, new Cancelled());
    expect(puppet.heard).toEqual([]);
    speak();
    expect(puppet.heard.map(({ kind }) => kind)).toEqual(['run', 'abort']);
    start(2);
    puppet.die();
    await settled();
    speak();
    expect(puppet.heard).toHaveLength(2);
  });
});
