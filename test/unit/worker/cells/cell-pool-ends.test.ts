import { describe, expect, it } from 'vitest';
import { Cancelled } from '../../../../lib/worker/abort-reasons.ts';
import { settled } from '../../../support/puppet-cell.ts';
import { puppetPool } from '../../../support/puppet-pool.ts';

const TICK_MS = 250;
const MIB = 1024 * 1024;

describe('a cell that dies', () => {
  it('charges a job that was alone in a fresh cell, and is replaced', async () => {
    const { puppets, telemetry, ready, start, begin, die } = puppetPool();
    ready(0);
    const { ends } = start('a');
    begin(0, 'a');
    await die(0);
    expect(ends).toMatchObject([{ kind: 'died', crashedAlone: true, maxInCell: 1 }]);
    expect(puppets).toHaveLength(2);
    expect([telemetry.total('CellsDied'), telemetry.total('JobsCrashed')]).toEqual([1, 1]);
  });

  it.each([
    ['half of them where memory has room for no more', () => 0, 8, 5, 3],
    ['as many as there is room for', () => 192 * MIB, 8, 8, 3],
    ['twice the processors', () => 9999 * MIB, 2, 9, 3],
    ['so that two are alone', () => 0, 8, 2, 1],
  ])(
    'charges none of several, and marks them to share cells: %s',
    async (_, memoryForCells, processors, jobs, most) => {
      const { ready, start, begin, die } = puppetPool({ memoryForCells, processors });
      ready(0);
      const ids = Array.from({ length: jobs }, (_, n) => `job-${n}`);
      const runs = ids.map((jobId) => start(jobId));
      for (const jobId of ids) begin(0, jobId);
      await die(0);
      for (const { ends } of runs)
        expect(ends).toMatchObject([{ kind: 'died', crashedAlone: false, maxInCell: most }]);
    },
  );

  it('charges no job in a cell that others had used, or that had not started', async () => {
    const { ready, start, begin, die, finish } = puppetPool();
    ready(0);
    start('a');
    await finish(0, 'a');
    const used = start('b');
    begin(0, 'b');
    await die(0);
    ready(1);
    const unbegun = start('c');
    await die(1);
    for (const { ends } of [used, unbegun])
      expect(ends).toMatchObject([{ kind: 'died', crashedAlone: false, maxInCell: 1 }]);
  });

  it('charges and marks no job for a handler that ignored its signal, because the cause is known', async () => {
    const { telemetry, ready, start, begin, die } = puppetPool();
    ready(0);
    const [a, b] = [start('a'), start('b')];
    begin(0, 'a');
    a.kill();
    await die(0);
    const died = { kind: 'died', cause: expect.stringContaining('killAfterMs'), crashedAlone: false };
    for (const { ends } of [a, b]) expect(ends).toEqual([{ ...died, maxInCell: undefined }]);
    expect(telemetry.total('CellsDied')).toBe(1);
  });
});

describe('a cell that has nothing to do any more', () => {
  it.each([1, 2])('is one too many after a marked job (at most %i in a cell)', async (maxInCell) => {
    const { at, ready, start, finish, jobsOf } = puppetPool();
    ready(0);
    start('a');
    start('s', { maxInCell });
    ready(1);
    expect(jobsOf(1)).toEqual(['s']);
    await finish(1, 's');
    expect([at(0).done.ended, at(1).done.ended]).toEqual([0, 1]);
  });
});

describe('a tick of the host', () => {
  it('comes while a cell starts or a run waits for one, which fails after half a minute', async () => {
    const { cells, ticking, start, ready, tick } = puppetPool();
    const { ends } = start('a');
    expect([ticking.every, ticking.started]).toEqual([TICK_MS, 1]);
    await tick(30_000 / TICK_MS);
    expect(ends).toEqual([]);
    await tick();
    await settled();
    expect(ends).toEqual([{ kind: 'unplaced', cause: 'no cell had room for it' }]);
    ready(0);
    expect([ticking.every, cells.isUsable()]).toEqual([undefined, true]);
  });

  it('comes while a job runs, and gives waiting runs a late cell', async () => {
    const { at, ticking, ready, start, tick, finish, jobsOf, die } = puppetPool();
    ready(0);
    start('a');
    at(0).begin(2);
    expect(ticking.every).toBe(TICK_MS);
    await tick(3);
    start('b');
    expect(jobsOf(0)).toEqual(['a']);
    at(0).shown.pulse = 1;
    await tick();
    expect(jobsOf(0)).toEqual(['a', 'b']);
    ready(1);
    await finish(0, 'a');
    await finish(0, 'b');
    await die(0);
    expect(ticking.every).toBeUndefined();
  });
});

describe('a run that is stopped while it waits for a cell', () => {
  it('never starts', async () => {
    const { ready, start, finish, jobsOf } = puppetPool({ concurrency: 1, memoryForCells: () => 0 });
    ready(0);
    start('a');
    const waiting = start('b');
    waiting.abort(new Cancelled());
    await finish(0, 'a');
    expect(waiting.ends).toMatchObject([{ kind: 'threw', error: { retryable: true } }]);
    expect(jobsOf(0)).toEqual(['a']);
  });
});

describe('a host that may be frozen', () => {
  it('waits until no cell is being ended, and lets the others write out what they have gathered', async () => {
    const { cells, at, ready, start, die } = puppetPool({ cells: 2 });
    ready(0, 1);
    start('a').kill();
    let isQuiet = false;
    const quiet = cells.quiet().then(() => {
      isQuiet = true;
    });
    await settled();
    expect([isQuiet, at(1).heard]).toEqual([false, []]);
    await die(0);
    const [asked] = at(1).heard;
    expect([isQuiet, asked?.kind]).toEqual([false, 'flush']);
    at(1).send({ kind: 'flushed', turn: asked?.kind === 'flush' ? asked.turn : -1 });
    await quiet;
  });
});

describe('a host that closes', () => {
  it('ends its cells, fails waiting runs, and is done when the last cell is gone', async () => {
    const { cells, at, puppets, ticking, closed, ready, start, die } = puppetPool({
      cells: 2,
      concurrency: 2,
    });
    ready(0);
    const [a, b] = [start('a'), start('b')];
    let isClosed = false;
    const closing = cells.close().then(() => {
      isClosed = true;
    });
    await settled();
    expect([at(0).done.ended, at(1).done.ended, cells.isUsable()]).toEqual([1, 1, false]);
    expect(b.ends).toEqual([{ kind: 'unplaced', cause: 'the host closes' }]);
    await die(0);
    expect(a.ends).toMatchObject([{ kind: 'died', cause: 'ended with its host', crashedAlone: false }]);
    expect([isClosed, closed(), ticking.every]).toEqual([false, 0, TICK_MS]);
    await die(1);
    await closing;
    expect([closed(), ticking.every, puppets.length]).toEqual([1, undefined, 2]);
  });
});
