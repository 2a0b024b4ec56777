import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../../../lib/settings/settings.ts';
import { createFakeClock } from '../../../../lib/testing/fake-clock.ts';
import type { RunEnd } from '../../../../lib/worker/cells/cells.ts';
import { type CellDeath, createCell } from '../../../../lib/worker/cells/host/cell.ts';
import { KILLED, puppetCell, settled } from '../../../support/puppet-cell.ts';
import { silentTelemetry } from '../../../support/silent-ports.ts';
import { stubWork } from '../../../support/stub-work.ts';

/** Exit and the end of the channel come one after the other. */
const LAST_MESSAGES_MS = 250;

function stage() {
  const clock = createFakeClock();
  const puppet = puppetCell();
  const deaths: CellDeath[] = [];
  const cell = createCell({
    ...{ id: 7, process: puppet.process, pulseMs: 250, settings: resolveSettings(), clock },
    ...{ defer: (run) => run(), memoryBytes: 1000 },
    onReady() {},
    standsOut: () => false,
    telemetry: silentTelemetry,
    onFreed() {},
    onDead: (death) => void deaths.push(death),
  });
  const start = (run: number) => {
    const ends: (RunEnd | 'unstarted')[] = [];
    cell.run(run, stubWork(), (end) => void ends.push(end));
    return ends;
  };
  const ready = () => puppet.send({ kind: 'ready', types: [] });
  return { cell, clock, puppet, deaths, start, ready };
}

describe('a cell whose process has ended', () => {
  it('takes nothing new at once, and ends what it has started', () => {
    const { cell, puppet, ready } = stage();
    ready();
    expect(puppet.done.ended).toBe(0);
    puppet.exit();
    expect([cell.isReady(), cell.isEnding(), puppet.done.ended]).toEqual([false, true, 1]);
  });

  it('is dead when its channel is closed as well, and hears what came before that', async () => {
    const { clock, puppet, deaths, start } = stage();
    const ends = start(1);
    puppet.exit();
    await settled();
    expect(deaths).toEqual([]);
    puppet.send({ kind: 'ended', run: 1, end: { kind: 'returned', result: '"late"' } });
    expect(ends).toEqual([{ kind: 'returned', result: '"late"' }]);
    puppet.disconnect();
    await settled();
    expect(deaths).toMatchObject([{ runs: [] }]);
    expect([puppet.done.forgotten, clock.monotonic()]).toEqual([1, 0]);
    // No timer outlives it.
    expect(clock.sleepers).toBe(0);
  });

  it('is dead after a while although its channel stays open', async () => {
    const { clock, puppet, deaths } = stage();
    puppet.exit();
    await clock.advance(LAST_MESSAGES_MS - 1);
    expect([deaths, puppet.done.forgotten]).toEqual([[], 0]);
    await clock.advance(1);
    expect(deaths).toHaveLength(1);
    expect(puppet.done.forgotten).toBe(1);
  });

  it('dies once, however often its end is reported', async () => {
    const { puppet, deaths } = stage();
    puppet.exit({ code: null, signal: null, error: 'EPIPE' });
    puppet.exit();
    puppet.disconnect();
    await settled();
    puppet.exit();
    await settled();
    expect(deaths.map(({ cause }) => cause)).toEqual(['its process could not be started: EPIPE']);
    expect(puppet.done).toMatchObject({ ended: 1, forgotten: 1 });
  });

  it('reports all known facts', async () => {
    const { puppet, deaths, start, ready } = stage();
    ready();
    start(1);
    start(2);
    puppet.begin(2);
    puppet.die({ code: 3, signal: null });
    await settled();
    expect(deaths).toMatchObject([
      {
        cause: 'a handler, or what it called, ended the process with exit code 3',
        ...{ killedFor: undefined, wasReady: true },
        // Whoever was handed over and never began cannot have been the reason.
        runs: [
          { run: 1, started: false },
          { run: 2, started: true },
        ],
      },
    ]);
  });

  it('was not ready if it never said so, and its exit report gives the cause of death', async () => {
    const { puppet, deaths } = stage();
    puppet.shown.exitReport = { origin: 'uncaughtException', error: 'Error: oh' };
    puppet.die({ code: 1, signal: null });
    await settled();
    expect(deaths).toMatchObject([{ cause: 'uncaught exception: Error: oh', wasReady: false }]);
  });

  it('was killed for its memory if it had nearly all that it may when it was last looked at', async () => {
    for (const [memory, cause] of [
      [800, /^out of memory/],
      [799, /^killed \(SIGKILL\)/],
    ] as const) {
      const { cell, puppet, deaths } = stage();
      puppet.shown.memory = memory;
      cell.tick();
      puppet.die();
      await settled();
      expect(deaths[0]?.cause).toMatch(cause);
    }
  });
});

describe('a cell that its host ends', () => {
  it('takes nothing new, and gives the first reason', async () => {
    const { cell, puppet, deaths, ready } = stage();
    ready();
    cell.kill('memory');
    expect([cell.isEnding(), cell.isReady(), puppet.done.ended]).toEqual([true, false, 1]);
    cell.kill('closing');
    expect(puppet.done.ended).toBe(2);
    puppet.die();
    await settled();
    expect(deaths).toMatchObject([
      { killedFor: 'memory', cause: expect.stringMatching(/^out of memory: killed before/) },
    ]);
  });
});

describe('a cell that closes its channel and lives', () => {
  it('is ended after a while, and that is the cause of its death', async () => {
    const { clock, puppet, deaths } = stage();
    puppet.disconnect();
    await settled();
    await clock.advance(LAST_MESSAGES_MS - 1);
    expect(puppet.done.ended).toBe(0);
    await clock.advance(1);
    expect(puppet.done.ended).toBe(1);
    puppet.exit(KILLED);
    await settled();
    expect(deaths.map(({ cause }) => cause)).toEqual([
      'a handler, or what it called, closed the channel to its host',
    ]);
  });

  it('is not blamed for it where its process ends in that time', async () => {
    const { clock, puppet, deaths } = stage();
    puppet.disconnect();
    await settled();
    await clock.advance(LAST_MESSAGES_MS - 1);
    puppet.exit(KILLED);
    await settled();
    await clock.advance(1);
    expect(deaths.map(({ cause }) => cause)).toEqual(['killed (SIGKILL) by another process than its host']);
    expect(puppet.done.ended).toBe(1);
  });

  it('is not blamed for it where its channel is closed because it has ended', async () => {
    const { clock, puppet, deaths } = stage();
    puppet.exit(KILLED);
    puppet.disconnect();
    await settled();
    await clock.advance(LAST_MESSAGES_MS);
    expect(deaths.map(({ cause }) => cause)).toEqual(['killed (SIGKILL) by another process than its host']);
    expect(puppet.done.ended).toBe(1);
  });
});
