import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../../../lib/settings/settings.ts';
import { createHandClock } from '../../../../lib/testing/hand-clock.ts';
import { Cancelled } from '../../../../lib/worker/abort-reasons.ts';
import type { Kept, PayloadCheck, RunEnd, Work } from '../../../../lib/worker/cells/cells.ts';
import type { FromCell } from '../../../../lib/worker/cells/channel.ts';
import { type CellDeath, startCell } from '../../../../lib/worker/cells/host/cell.ts';
import { puppetCell, settled } from '../../../support/puppet-cell.ts';
import { stubWork } from '../../../support/stub-cell.ts';

const PULSE_MS = 250;
const READY: FromCell = { kind: 'ready', types: [{ type: 'work' }] };
const threw: RunEnd = { kind: 'threw', error: { text: 'no', loggable: 'no', retryable: true } };
const ended = (run: number, end: Extract<FromCell, { kind: 'ended' }>['end']): FromCell => ({
  ...{ kind: 'ended', run, end },
});

/** A cell whose process is a puppet. What it is told goes out when the test says so, or at once. */
function stage({ isHeldBack = false } = {}) {
  const clock = createHandClock();
  const puppet = puppetCell();
  const told = { ready: [] as unknown[], freed: 0, deaths: [] as CellDeath[] };
  const unsaid: (() => void)[] = [];
  const cell = startCell({
    ...{ id: 7, process: puppet.process, pulseMs: PULSE_MS, limits: resolveSettings(), clock },
    ...{ soon: (run) => (isHeldBack ? void unsaid.push(run) : run()), memoryBytes: 1000 },
    onReady: (types) => void told.ready.push(types),
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
  const check = (number: number) => {
    const answers: PayloadCheck[] = [];
    cell.check(number, 'work', '{}', (answer) => void answers.push(answer));
    return answers;
  };
  const speak = () => {
    for (const say of unsaid.splice(0)) say();
  };
  return { cell, clock, puppet, told, start, check, speak };
}

describe('a cell that starts', () => {
  it('has the number that it was given, the process’s, and is ready once it says so', () => {
    const { cell, puppet, told } = stage();
    expect([cell.id, cell.pid]).toEqual([7, 4711]);
    expect([cell.isReady(), cell.isRetired()]).toEqual([false, false]);
    puppet.say(READY);
    expect([cell.isReady(), cell.isRetired()]).toEqual([true, false]);
    puppet.say(READY);
    expect(told.ready).toEqual([[{ type: 'work' }]]);
  });

  it('is not ready any more, nor for the first time, when it has been retired', () => {
    const one = stage();
    one.puppet.say(READY);
    one.cell.retire();
    expect([one.cell.isReady(), one.cell.isRetired()]).toEqual([false, true]);
    const two = stage();
    two.cell.retire();
    two.puppet.say(READY);
    expect([two.cell.isReady(), two.told.ready]).toEqual([false, []]);
  });
});

describe('what a cell is used for', () => {
  it('counts runs and checks, and a job once that was checked here before', () => {
    const { cell, start, check } = stage();
    expect([cell.used(), cell.busy()]).toEqual([0, 0]);
    start(1);
    expect([cell.used(), cell.busy()]).toEqual([1, 1]);
    check(2);
    expect([cell.used(), cell.busy()]).toEqual([2, 2]);
    start(3, { checked: { cell: 7, check: 2 } });
    expect([cell.used(), cell.busy()]).toEqual([2, 3]);
    start(4, { checked: { cell: 8, check: 2 } });
    expect([cell.used(), cell.busy()]).toEqual([3, 4]);
  });

  it('passes on how a run ended, and that there is room', () => {
    const { cell, puppet, told, start } = stage();
    const [one, two] = [start(1), start(2)];
    puppet.say(ended(2, { kind: 'returned', result: '1' }));
    expect([one, two, told.freed]).toEqual([[], [{ kind: 'returned', result: '1' }], 1]);
    expect([...cell.runs.keys()]).toEqual([1]);
  });

  it('counts failures in a row, and only those of its own runs', () => {
    const { cell, puppet, start } = stage();
    for (const run of [1, 2, 3, 4]) start(run);
    expect(cell.failures()).toBe(0);
    puppet.say(ended(1, threw), ended(2, threw));
    expect(cell.failures()).toBe(2);
    puppet.say(ended(9, threw), ended(9, { kind: 'returned' }), ended(1, threw));
    expect(cell.failures()).toBe(2);
    puppet.say(ended(3, { kind: 'returned' }));
    expect(cell.failures()).toBe(0);
  });

  it('passes on an answer about a payload, and that there is room', () => {
    const { cell, puppet, told, check } = stage();
    const answers = check(5);
    expect(puppet.heard).toEqual([{ kind: 'check', check: 5, type: 'work', payload: '{}' }]);
    puppet.say({ kind: 'checked', check: 5, answer: 'accepted' });
    expect(answers).toEqual([{ kind: 'accepted', token: { cell: 7, check: 5 } }]);
    expect([told.freed, cell.busy()]).toEqual([1, 0]);
    cell.forget(5);
    expect(puppet.heard.at(-1)).toEqual({ kind: 'forget', check: 5 });
  });

  it('stores what a handler asks for, and says what became of it', async () => {
    const { puppet, start } = stage();
    const saved: Kept[] = [];
    start(1, {
      async save(kept) {
        saved.push(kept);
        return 'lost';
      },
    });
    puppet.say({ kind: 'save', run: 1, checkpoint: '{"page":4}' });
    await settled();
    expect(saved).toEqual([{ checkpoint: '{"page":4}', progress: undefined }]);
    expect(puppet.heard.at(-1)).toEqual({ kind: 'saved', run: 1, outcome: 'lost' });
  });

  it('tells a handler to stop, by message and on the slate', () => {
    const { cell, puppet, start } = stage();
    start(1);
    cell.abort(1, new Cancelled());
    expect(puppet.heard.at(-1)).toMatchObject({ kind: 'abort', run: 1 });
    expect(puppet.written.get(0)).toMatchObject({ run: 1, revoked: expect.any(Number) });
    expect(puppet.written.get(0)?.revoked).not.toBe(0);
  });

  it('takes back what it did not begin, and counts as stuck until its pulse moves', () => {
    const { cell, puppet, start } = stage();
    const ends = start(1);
    cell.revokeUnstarted(1);
    expect(ends).toEqual(['unstarted']);
    cell.tick();
    cell.tick();
    expect([cell.busy(), cell.missedPulses()]).toEqual([0, 2]);
    puppet.shown.pulse = 1;
    cell.tick();
    expect(cell.missedPulses()).toBe(0);
  });

  it('leaves alone what it has begun, and what it says that it withdrew is over', () => {
    const { cell, puppet, start } = stage();
    const ends = start(1);
    puppet.begin(1);
    cell.revokeUnstarted(1);
    expect(ends).toEqual([]);
    puppet.say({ kind: 'unstarted', run: 1 });
    expect(ends).toEqual(['unstarted']);
    cell.tick();
    expect([cell.busy(), cell.missedPulses()]).toEqual([0, 0]);
  });
});

describe('a tick of the host', () => {
  it('misses the pulse of a cell that has something to do, and of no other', () => {
    const { cell, puppet, start, check } = stage();
    cell.tick();
    expect(cell.missedPulses()).toBe(0);
    check(1);
    cell.tick();
    expect(cell.missedPulses()).toBe(1);
    puppet.say({ kind: 'checked', check: 1, answer: 'refused' });
    cell.tick();
    expect(cell.missedPulses()).toBe(0);
    start(2);
    cell.tick();
    cell.tick();
    expect(cell.missedPulses()).toBe(2);
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
    puppet.say(READY);
    let isOver = false;
    const flushed = cell.flush().then(() => {
      isOver = true;
    });
    await settled();
    const [asked] = puppet.heard;
    expect([asked?.kind, isOver]).toEqual(['flush', false]);
    puppet.say({ kind: 'flushed', turn: asked?.kind === 'flush' ? asked.turn : -1 });
    await flushed;
  });

  it('is over when the cell dies, and is not asked of a dead one', async () => {
    const { cell, puppet, clock } = stage();
    puppet.say(READY);
    const flushed = cell.flush();
    puppet.die();
    await flushed;
    expect(clock.monotonic()).toBe(0);
    const { length } = puppet.heard;
    await cell.flush();
    expect(puppet.heard).toHaveLength(length);
  });
});

describe('what was said and not sent yet', () => {
  it('goes out together, and to nobody when the cell has died meanwhile', async () => {
    const { cell, puppet, start, speak } = stage({ isHeldBack: true });
    start(1);
    cell.forget(3);
    expect(puppet.heard).toEqual([]);
    speak();
    expect(puppet.heard.map(({ kind }) => kind)).toEqual(['run', 'forget']);
    cell.forget(4);
    puppet.die();
    await settled();
    speak();
    expect(puppet.heard).toHaveLength(2);
  });
});
