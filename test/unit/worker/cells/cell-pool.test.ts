import { describe, expect, it } from 'vitest';
import { settled } from '../../../support/puppet-cell.ts';
import { puppetPool } from '../../../support/puppet-pool.ts';

const MIB = 1024 * 1024;

describe('the cells of a host that starts', () => {
  it('are ready with the first one, which reports their types', async () => {
    const { cells, at, ready } = puppetPool({ cells: 2 });
    expect([cells.isReady(), cells.isUsable(), cells.types()]).toEqual([false, true, []]);
    let isReady = false;
    void cells.ready().then(() => {
      isReady = true;
    });
    await settled();
    expect(isReady).toBe(false);
    at(1).send({ kind: 'ready', types: [{ type: 'work', maxAttempts: 4 }, { type: 'play' }] });
    await settled();
    expect([isReady, cells.isReady(), cells.types()]).toEqual([true, true, ['work', 'play']]);
    expect([cells.find('work'), cells.find('play'), cells.find('rest')]).toEqual([
      { maxAttempts: 4 },
      {},
      undefined,
    ]);
    ready(0);
    expect(cells.types()).toEqual(['work']);
  });

  it('are tried again after longer and longer pauses, and given up on after three in a row', async () => {
    const { cells, clock, puppets, at, start, ready, telemetry } = puppetPool();
    const waiting = start('a');
    const rejected = expect(cells.ready()).rejects.toThrow(/file:\/\/\/jobs\.js.*syntax/s);
    for (const [index, pauseMs] of [250, 500, 1000].entries()) {
      expect([puppets.length, cells.isUsable(), waiting.ends]).toEqual([index + 1, true, []]);
      at(index).shown.exitReport = { origin: 'load', error: 'syntax' };
      at(index).die();
      await settled();
      await clock.advance(pauseMs - 1);
      expect(puppets).toHaveLength(index + 1);
      await clock.advance(1);
    }
    await rejected;
    expect(waiting.ends).toEqual([{ kind: 'unplaced', cause: 'syntax' }]);
    expect([puppets.length, cells.isUsable(), telemetry.total('CellsUnready')]).toEqual([4, false, 3]);
    ready(3);
    expect(cells.isUsable()).toBe(true);
  });

  it('are ended when their module takes too long to load, with the module and the time in the log', async () => {
    const { at, tick, die, telemetry } = puppetPool();
    await tick(35_000 / 250);
    expect(at(0).done.ended).toBe(0);
    await tick();
    expect(at(0).done.ended).toBe(1);
    await die(0);
    const [line] = telemetry.lines.filter(({ message }) => message === 'no cell can be started');
    expect(line).toMatchObject({ level: 'warn', fields: { jobs: 'file:///jobs.js' } });
    expect(String(line?.fields.reason)).toMatch(/after 35250 ms, before it was ready: .*too long to load/);
  });
});

describe('cells that are missing', () => {
  it('are started one after the other once one has been ready', async () => {
    const { puppets, ready, die } = puppetPool({ cells: 3 });
    ready(0, 1, 2);
    await die(0);
    expect(puppets).toHaveLength(4);
    await die(1);
    expect(puppets).toHaveLength(4);
    ready(3);
    expect(puppets).toHaveLength(5);
    ready(4);
    expect(puppets).toHaveLength(5);
  });
});

describe('a spare cell', () => {
  it('is started when all others are there, and only where it was asked for and memory has room', () => {
    const pool = puppetPool({ cells: 2, spare: true });
    pool.ready(0);
    expect(pool.puppets).toHaveLength(2);
    pool.ready(1);
    expect(pool.puppets).toHaveLength(3);
    pool.ready(2);
    expect(pool.puppets).toHaveLength(3);
    for (const given of [{ spare: false }, {}, { spare: true, memoryForCells: () => 190 * MIB }]) {
      const without = puppetPool({ cells: 2, ...given });
      without.ready(0, 1);
      expect(without.puppets).toHaveLength(2);
    }
  });
});

describe('the jobs of a host', () => {
  it('are shared out evenly, and beyond that find further cells', () => {
    const { puppets, ready, start, jobsOf } = puppetPool({ cells: 2, concurrency: 3 });
    ready(0, 1);
    for (const jobId of ['a', 'b', 'c', 'd']) start(jobId);
    expect([jobsOf(0), jobsOf(1), puppets.length]).toEqual([['a', 'c'], ['b', 'd'], 2]);
    start('e');
    expect(puppets).toHaveLength(3);
    ready(2);
    expect(jobsOf(2)).toEqual(['e']);
  });

  it('have two cells more at most where memory has room for none, and else one for each', () => {
    for (const [memoryForCells, most] of [
      [() => 0, 3],
      [() => 9999 * MIB, 5],
    ] as const) {
      const { puppets, ready, start } = puppetPool({ concurrency: 3, cells: 1, memoryForCells });
      for (let i = 0; i < 12; i++) start(`job-${i}`, { maxInCell: 1 });
      for (let i = 0; i < puppets.length; i++) ready(i);
      expect(puppets).toHaveLength(most);
    }
  });
});
