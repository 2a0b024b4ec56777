import { describe, expect, it } from 'vitest';
import { settled } from '../../../support/puppet-cell.ts';
import { MEMORY_BYTES, puppetPool } from '../../../support/puppet-pool.ts';

const TICK_MS = 250;

describe('a cell that dies', () => {
  it('charges a job that was alone in a cell of its own, and is replaced', async () => {
    const { puppets, telemetry, ready, start, begin, die } = puppetPool();
    ready(0);
    const { ends } = start('a');
    begin(0, 'a');
    await die(0);
    expect(ends).toMatchObject([{ kind: 'died', isToBlame: true, suspicion: { group: 1, limit: 1 } }]);
    expect(puppets).toHaveLength(2);
    expect([telemetry.total('CellsDied'), telemetry.total('JobsCrashed')]).toEqual([1, 1]);
  });

  it('charges none of several, of whom half may share a cell from now on', async () => {
    const { ready, start, begin, die } = puppetPool();
    const inOne = async (index: number, jobIds: readonly string[]) => {
      ready(index);
      const runs = jobIds.map((jobId) => start(jobId));
      for (const jobId of jobIds) begin(index, jobId);
      await die(index);
      return runs.flatMap(({ ends }) => ends);
    };
    const died = (group: number, limit: number) => ({
      ...{ kind: 'died', isToBlame: false, suspicion: { group, limit } },
    });
    const three = died(1, 2);
    expect(await inOne(0, ['a', 'b', 'c'])).toMatchObject([three, three, three]);
    const two = died(2, 1);
    expect(await inOne(1, ['d', 'e'])).toMatchObject([two, two]);
  });

  it('charges nobody once the host drains', async () => {
    const { cells, ready, start, begin, die } = puppetPool();
    ready(0);
    const { ends } = start('a');
    begin(0, 'a');
    cells.drain();
    expect([cells.isUsable(), cells.isReady()]).toEqual([false, true]);
    await die(0);
    expect(ends).toMatchObject([{ kind: 'died', isToBlame: false, suspicion: undefined }]);
  });

  it('answers for the payloads that it was asked about', async () => {
    const { ready, check, die } = puppetPool();
    ready(0);
    const answers = check();
    await die(0);
    expect(answers).toEqual([{ kind: 'unanswered', suspicion: { group: 1, limit: 1 } }]);
  });
});

describe('a cell that has nothing to do any more', () => {
  const suspicions = [
    ['alone', { group: 4, limit: 1 }],
    ['with others', { group: 4, limit: 2 }],
  ] as const;

  it.each(suspicions)('is one too many after a suspect that was %s', async (_, suspicion) => {
    const { at, ready, start, finish, jobsOf } = puppetPool();
    ready(0);
    start('a');
    start('s', { suspicion });
    ready(1);
    expect(jobsOf(1)).toEqual(['s']);
    await finish(1, 's');
    expect([at(0).done.ended, at(1).done.ended]).toEqual([0, 1]);
  });

  it('is there for everybody after a suspect, where it is not one too many', async () => {
    const { at, puppets, ready, start, finish, jobsOf } = puppetPool();
    ready(0);
    start('s', { suspicion: { group: 4, limit: 1 } });
    await finish(0, 's');
    expect(jobsOf(0)).toEqual(['s']);
    start('a');
    expect([jobsOf(0), puppets.length, at(0).done.ended]).toEqual([['s', 'a'], 1, 0]);
  });

  it('is not ended for one that is not ready yet', async () => {
    const { at, puppets, ready, start, finish, jobsOf } = puppetPool({ concurrency: 1 });
    ready(0);
    start('a');
    start('b');
    expect(puppets).toHaveLength(2);
    await finish(0, 'a');
    expect([jobsOf(0), at(0).done.ended]).toEqual([['a', 'b'], 0]);
    ready(1);
    await finish(0, 'b');
    expect([at(0).done.ended, at(1).done.ended]).toEqual([1, 0]);
  });

  it('is not ended for one whose pulse is late', async () => {
    const { at, ready, start, tick, finish, jobsOf } = puppetPool();
    ready(0);
    start('a');
    at(0).begin(2);
    await tick(3);
    start('b');
    ready(1);
    expect(jobsOf(1)).toEqual(['b']);
    await finish(1, 'b');
    expect([at(0).done.ended, at(1).done.ended]).toEqual([0, 0]);
  });

  it('is replaced after five failures in a row, but not under a job that runs', async () => {
    const { at, puppets, ready, start, finish, die } = puppetPool();
    ready(0);
    start('a');
    for (const jobId of ['b', 'c', 'd', 'e', 'f']) {
      start(jobId);
      await finish(0, jobId, 'threw');
    }
    expect(at(0).done.ended).toBe(0);
    await finish(0, 'a', 'threw');
    expect([at(0).done.ended, puppets.length]).toEqual([1, 2]);
    await die(0);
    expect(puppets).toHaveLength(2);
  });

  it('is replaced if it has kept much memory', async () => {
    const { at, puppets, clock, ready, start, finish } = puppetPool();
    ready(0);
    start('a');
    await clock.advance(TICK_MS);
    at(0).shown.memory = 0.71 * MEMORY_BYTES;
    await finish(0, 'a');
    expect([at(0).done.ended, puppets.length]).toEqual([1, 2]);
  });
});

describe('a cell that is ended for the sake of one job', () => {
  it('is ended as soon as that job’s neighbours have stopped', async () => {
    const { at, clock, ready, start, finish } = puppetPool();
    ready(0);
    const [a, b, c] = [start('a'), start('b'), start('c')];
    a.kill('ignored signal');
    expect([a.retired, b.retired, c.retired]).toEqual([[], [undefined], [undefined]]);
    await finish(0, 'b');
    expect(at(0).done.ended).toBe(0);
    await finish(0, 'c');
    expect([at(0).done.ended, clock.monotonic()]).toEqual([1, 0]);
    at(0).die();
    await settled();
    expect(a.ends).toMatchObject([{ kind: 'died', cause: expect.stringContaining('killAfterMs') }]);
  });
});

describe('a cell that is ended for its memory', () => {
  it('leaves those in it their time, under suspicion', async () => {
    const { at, clock, ready, start, finish, tick } = puppetPool();
    ready(0);
    const [a, b] = [start('a'), start('b')];
    at(0).shown.memory = 0.96 * MEMORY_BYTES;
    at(0).shown.pulse = 1;
    await tick();
    const suspicion = { group: 1, limit: 1 };
    expect([a.retired, b.retired]).toEqual([[suspicion], [suspicion]]);
    await finish(0, 'a');
    await finish(0, 'b');
    expect(at(0).done.ended).toBe(0);
    await clock.advance(2000);
    expect(at(0).done.ended).toBe(1);
  });
});

describe('a tick of the host', () => {
  it('comes while somebody waits for a cell, who is given up on after half a minute', async () => {
    const { cells, ticking, start, tick } = puppetPool();
    expect(ticking.every).toBeUndefined();
    const { ends } = start('a');
    expect([ticking.every, ticking.started]).toEqual([TICK_MS, 1]);
    await tick(30_000 / TICK_MS);
    expect(ends).toEqual([]);
    await tick();
    await settled();
    expect(ends).toEqual([{ kind: 'unplaced', cause: 'no cell had room for it' }]);
    expect([ticking.every, cells.isUsable()]).toEqual([undefined, true]);
  });

  it('comes while a job runs, and gives those who wait a cell that was late', async () => {
    const { at, ticking, ready, start, tick, finish, jobsOf } = puppetPool();
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
    await finish(0, 'a');
    await finish(0, 'b');
    expect(ticking.every).toBeUndefined();
  });

  it('moves a job that a cell does not begin, and comes until the pulse of that cell is back', async () => {
    const { at, ticking, ready, start, tick, finish, jobsOf } = puppetPool();
    ready(0);
    start('a');
    await tick(1000 / TICK_MS);
    expect(at(0).written.get(0)?.revoked).toBe(0);
    await tick();
    expect(at(0).written.get(0)?.revoked).not.toBe(0);
    ready(1);
    expect(jobsOf(1)).toEqual(['a']);
    await finish(1, 'a');
    expect(ticking.every).toBe(TICK_MS);
    at(0).shown.pulse = 1;
    await tick();
    expect(ticking.every).toBeUndefined();
  });

  it('comes while a cell is being ended', async () => {
    const { at, clock, ticking, ready, start, finish, die } = puppetPool();
    ready(0);
    start('a');
    await clock.advance(TICK_MS);
    at(0).shown.memory = 0.71 * MEMORY_BYTES;
    await finish(0, 'a');
    ready(1);
    expect(ticking.every).toBe(TICK_MS);
    await die(0);
    expect(ticking.every).toBeUndefined();
  });
});

describe('a host that may be frozen', () => {
  it('waits until no cell is being ended, and lets the others write out what they have gathered', async () => {
    const { cells, at, ready, start, die } = puppetPool({ cells: 2 });
    ready(0, 1);
    start('a').kill('ignored signal');
    let isQuiet = false;
    const quiet = cells.quiet().then(() => {
      isQuiet = true;
    });
    await settled();
    expect([isQuiet, at(1).heard]).toEqual([false, []]);
    await die(0);
    const [asked] = at(1).heard;
    expect([isQuiet, asked?.kind]).toEqual([false, 'flush']);
    at(1).say({ kind: 'flushed', turn: asked?.kind === 'flush' ? asked.turn : -1 });
    await quiet;
  });
});

describe('a host that closes', () => {
  it('ends its cells, gives up on those who wait, and is done when the last cell is gone', async () => {
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
    expect(a.ends).toMatchObject([{ kind: 'died', cause: 'ended with its host', isToBlame: false }]);
    expect([isClosed, closed(), ticking.every]).toEqual([false, 0, TICK_MS]);
    await die(1);
    await closing;
    expect([closed(), ticking.every, puppets.length]).toEqual([1, undefined, 2]);
  });

  it('blames nothing on the jobs module for a cell that was not ready yet, and starts none', async () => {
    const { cells, clock, puppets, telemetry, die } = puppetPool({ onClosed: undefined });
    const closing = cells.close();
    await die(0);
    await closing;
    await clock.advance(60_000);
    expect([puppets.length, telemetry.total('CellsUnready'), telemetry.lines]).toEqual([1, 0, []]);
  });

  it('starts none in the place of one that has died just before', async () => {
    const { cells, clock, puppets, die } = puppetPool();
    await die(0);
    await cells.close();
    await clock.advance(60_000);
    expect(puppets).toHaveLength(1);
  });
});
