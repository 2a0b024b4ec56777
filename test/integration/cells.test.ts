import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/aws/clock.ts';
import { Cancelled, LeaseLost, ShuttingDown } from '../../lib/worker/abort-reasons.ts';
import type { Cells } from '../../lib/worker/cells/cells.ts';
import { readClock } from '../../lib/worker/run/lease-clock.ts';
import { cellStage, deathOf, resultOf, type StageOptions, until } from '../support/cell-stage.ts';
import { isDeep } from '../support/depth.ts';
import { isAlive } from '../support/is-alive.ts';
import { childrenOf, isCell } from '../support/mortal-process.ts';

let open: Cells[] = [];
const stage = (options?: StageOptions) => {
  const made = cellStage(options);
  open.push(made.cells);
  return made;
};
afterEach(async () => {
  await Promise.all(open.map((cells) => cells.close()));
  open = [];
});

/** Kills within a second or so. */
const IMPATIENT = { maxStallMs: 1000, killAfterMs: 300 };

describe('a cell', () => {
  it('tells its types when it is ready, runs a handler, and keeps the channel to itself', async () => {
    const { cells, start } = stage();
    await cells.ready();
    expect(cells.types()).toEqual(['act', 'waitsLonger', 'stubborn']);
    const result = await resultOf(start('return'));
    expect(result.send).toBe('undefined');
    expect(result.pid).not.toBe(process.pid);
  });

  it('stores what a handler saves through its host, as text', async () => {
    const { start } = stage();
    const run = start('save', { place: 'halfway' });
    expect(await resultOf(run)).toBe('saved');
    expect(run.saved).toMatchObject([{ checkpoint: '"halfway"' }]);
  });

  const deaths = [
    ['exit', 'a handler, or what it called, ended the process with exit code 3'],
    ['kill', 'killed (SIGKILL) by another process than its host'],
    ['abort', 'aborted by process.abort()'],
    ['nativeAbort', 'aborted (SIGABRT) by native code; stderr may say more'],
    ['throwLater', 'uncaught exception: Error: thrown by a timer'],
    ['rejectLater', 'unhandled rejection: Error: nobody listens'],
    ['surviveThenKill', 'killed (SIGKILL) by another process than its host'],
    ['surviveThenExit', 'a handler, or what it called, ended the process with exit code 3'],
    ['disconnect', 'a handler, or what it called, closed the channel to its host'],
    ['closeChannel', 'a handler, or what it called, closed the channel to its host'],
  ] as const;
  const quickDeaths = ['kill', 'throwLater', 'surviveThenExit', 'closeChannel'];
  it.each(deaths.filter(([act]) => isDeep || quickDeaths.includes(act)))(
    'that dies by %s is known at once, with the cause',
    async (act, cause) => {
      const { start } = stage();
      const death = await deathOf(start(act));
      expect(death.cause.split('\n')[0]).toBe(cause);
      if (act === 'throwLater') expect(death.cause).toMatch(/at .*cell-jobs\.ts:\d+/);
      if (act === 'surviveThenExit')
        expect(death.cause).toMatch(/\nbefore that, .* Error: thrown by a timer\n/);
    },
  );

  it('whose heap is exhausted dies alone, and says so', async () => {
    // The heap has three quarters of it: V8 gives up long before the host looks at the whole.
    const { start } = stage({ memoryMb: 1200, settings: { maxStallMs: 60_000 }, heapMb: 80 });
    expect((await deathOf(start('heap'))).cause).toBe('out of memory (heap)');
  });

  it('is ended before the kernel acts when its other memory grows beyond its share', async () => {
    const { start } = stage({ memoryMb: 160 });
    expect((await deathOf(start('buffers'))).cause).toBe(
      'out of memory: killed before its memory was exhausted',
    );
  });

  it('that is stuck is killed after maxStallMs, counted in ticks of its host', async () => {
    const { start } = stage({ settings: IMPATIENT });
    expect((await deathOf(start('spin', {}, { maxStallMs: 1000 }))).cause).toMatch(/blocked the event loop/);
  });

  it('is replaced when it is idle and above 70 % of its memory, also by jobs too short for a tick, and not below', async () => {
    const { start } = stage({ memoryMb: 400 });
    const first = await resultOf(start('leak', { mb: 10 }));
    expect((await resultOf(start('leak', { mb: 230 }))).pid).toBe(first.pid);
    // Its memory is looked at again a pulse after the last look, when the next job has left it. On a busy machine that job may be given to
    // another cell: this one's pulse is late while it fills its memory.
    while (isAlive(first.pid as number)) await resultOf(start('return'));
  });

  it.each(isDeep ? ['its group', 'detached'] : ['detached'])(
    'takes what it has started with it (%s)',
    async (place) => {
      const { start } = stage();
      const { child } = (await resultOf(start('child', { place }))) as { child: number };
      expect(isAlive(child)).toBe(true);
      await deathOf(start('exit'));
      await until(() => !isAlive(child));
    },
  );
});

describe('a cell of a host that is debugged', () => {
  it('has a debugger’s port of its own', async () => {
    const { start } = stage({ isDebugged: true, cells: 2 });
    const urls = await Promise.all([start('debugger'), start('debugger')].map(resultOf));
    for (const { url } of urls) expect(url).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\//);
  });
});

describe('the memory that host and cell share', () => {
  it('tells a handler that computes and reads no message that its lease is over, and only then', async () => {
    const { start, cells } = stage({ settings: { maxStallMs: 60_000 } });
    await cells.ready();
    const lapsing = await resultOf(start('compute', { ms: 20_000 }, { leaseMs: 700 }));
    expect(lapsing.aborted).toBe(true);
    // Three lease lengths, renewed by the heart all the while.
    const kept = start('compute', { ms: 1500 }, { leaseMs: 500 });
    const beating = setInterval(() => kept.lease.renew(readClock(systemClock)), 100);
    expect(await resultOf(kept)).toMatchObject({ aborted: false });
    clearInterval(beating);
  });

  it('tells what a handler left running that the run is over', async () => {
    const journal = join(mkdtempSync(join(tmpdir(), 'leasehold-cells-')), 'look');
    const { start } = stage();
    expect(await resultOf(start('leaveLook', { journal }))).toBe('left');
    const looked = () => /^{"aborted".*$/m.exec(readFileSync(journal, 'utf8'))?.[0];
    await until(() => looked() !== undefined);
    expect(JSON.parse(looked() ?? '')).toEqual({
      aborted: true,
      reason: expect.stringContaining('already ended'),
    });
  });
});

describe('blame', () => {
  it('falls only on a job that was alone in a fresh cell', async () => {
    const { start, cells } = stage();
    await cells.ready();
    expect(await deathOf(start('exit'))).toMatchObject({ crashedAlone: true });
    await resultOf(start('return'));
    // The cell has been used by another job.
    expect(await deathOf(start('exit'))).toMatchObject({ crashedAlone: false, maxInCell: 1 });
  });

  it('does not fall on jobs that shared a cell, which run again in smaller groups', async () => {
    const { start, cells } = stage({ processors: 1 });
    await cells.ready();
    const innocents = Array.from({ length: 4 }, () => start('return', { ms: 60_000 }));
    const deaths = await Promise.all([deathOf(start('exit', { ms: 100 })), ...innocents.map(deathOf)]);
    for (const death of deaths) expect(death).toMatchObject({ crashedAlone: false, maxInCell: 3 });
    const folder = mkdtempSync(join(tmpdir(), 'leasehold-marked-'));
    const journal = join(folder, 'journal');
    const again = deaths.map(({ maxInCell }) => start('heedSignal', { journal }, { maxInCell }));
    const pids = () => (existsSync(journal) ? readFileSync(journal, 'utf8').match(/"pid":\d+/g) : null) ?? [];
    await until(() => pids().length === deaths.length);
    const sizes = [...Map.groupBy(pids(), (pid) => pid).values()].map(({ length }) => length);
    expect(sizes.toSorted()).toEqual([2, 3]);
    for (const run of again) run.abort(new ShuttingDown('shutdown'));
    await Promise.all(again.map(({ end }) => end));
    rmSync(folder, { recursive: true });
  });

  it('does not fall on who runs beside the timer of a finished job', async () => {
    const { start, cells } = stage();
    await cells.ready();
    await resultOf(start('leaveTimer', { ms: 200 }));
    expect(await deathOf(start('return', { ms: 60_000 }))).toMatchObject({ crashedAlone: false });
  });

  it('lets no marked job wait, and no other wait for a marked one', async () => {
    const { start, cells } = stage();
    await cells.ready();
    const { maxInCell } = await deathOf(start('exit'));
    const marked = start('return', { ms: 3000 }, { maxInCell });
    const fresh = await resultOf(start('return'));
    expect(fresh.pid).toEqual(expect.any(Number));
    expect((await resultOf(marked)).pid).not.toBe(fresh.pid);
  });

  it('falls on no neighbor of a handler that ignored its signal, and marks none', async () => {
    const { start, cells } = stage();
    await cells.ready();
    const stubborn = start('ignoreSignal');
    const neighbor = start('heedSignal');
    await resultOf(start('return', { ms: 100 }));
    stubborn.kill();
    for (const run of [stubborn, neighbor])
      expect(await deathOf(run)).toMatchObject({ crashedAlone: false, maxInCell: undefined });
  });

  it('falls on nobody while the host drains', async () => {
    const { start, cells } = stage();
    await cells.ready();
    cells.drain();
    expect(await deathOf(start('exit'))).toMatchObject({ crashedAlone: false, maxInCell: undefined });
  });
});

describe('a spare cell', () => {
  it('is ready before anybody dies, takes no work of others, and gives a restarted job its fresh cell', async () => {
    const { start, cells } = stage({ spare: true });
    await cells.ready();
    const first = await resultOf(start('return'));
    const spare = await spareOf(first.pid as number);
    expect((await resultOf(start('return'))).pid).toBe(first.pid);
    const { maxInCell } = await deathOf(start('exit'));
    expect((await resultOf(start('return', {}, { maxInCell }))).pid).toBe(spare);
  });
});

/** The other cell of this process, when it has loaded its module: its shared memory is in use by then. */
async function spareOf(used: number): Promise<number> {
  let found: number | undefined;
  await until(() => {
    found = childrenOf(process.pid).find((pid) => pid > used && isCell(pid));
    return found !== undefined;
  });
  return found as number;
}

describe('a schema', () => {
  it('is asked in the cell first thing in the run, and the handler gets its value', async () => {
    const { start } = stage();
    expect(await start('return').end).toMatchObject({ kind: 'returned' });
    expect(await start({ type: 'act', payload: { act: 1 } }).end).toMatchObject({
      kind: 'threw',
      error: { retryable: true, quotesPayload: true },
    });
  });
});

it('a backoff function runs in the cell', async () => {
  const { start } = stage();
  expect(await start({ type: 'waitsLonger', payload: {} }).end).toMatchObject({
    kind: 'threw',
    error: { retryAfterMs: 7_000 },
  });
});

describe('a jobs module that cannot be loaded', () => {
  it('is told with its file and stack after a few tries, and nothing becomes ready', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'leasehold-broken-'));
    const file = join(folder, 'broken.mjs');
    writeFileSync(file, "throw new Error('no database');");
    const { cells, telemetry } = stage({ jobs: new URL(`file://${file}`) });
    await expect(cells.ready()).rejects.toThrow(/broken\.mjs[\s\S]*no database/);
    expect(cells.isReady()).toBe(false);
    expect(telemetry.total('CellsUnready')).toBeGreaterThanOrEqual(3);
    rmSync(folder, { recursive: true });
  });
});

describe('a host that is gone', () => {
  it('leaves no cell behind, not even one that is stuck', async () => {
    const host = fork(new URL('../support/host-to-kill.ts', import.meta.url).pathname, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const [pids] = (await once(host, 'message')) as [number[]];
    expect(pids.length).toBeGreaterThan(0);
    for (const pid of pids) expect(isAlive(pid)).toBe(true);
    host.kill('SIGKILL');
    await until(() => pids.every((pid) => !isAlive(pid)));
  });
});

const MEMORY = '/sys/fs/cgroup/memory';
const hasCgroups = (() => {
  try {
    mkdirSync(`${MEMORY}/leasehold-probe`);
    rmdirSync(`${MEMORY}/leasehold-probe`);
    return true;
  } catch {
    return false;
  }
})();

describe('in a memory cgroup', () => {
  // Needs a writable cgroup v1 hierarchy, that is root on Linux.
  it.skipIf(!hasCgroups)('the kernel ends the cell and not its host, whose next job runs', async () => {
    const group = `${MEMORY}/leasehold-${process.pid}`;
    mkdirSync(group);
    writeFileSync(`${group}/memory.limit_in_bytes`, String(300 * 1024 * 1024));
    const host = fork(new URL('../support/host-in-cgroup.ts', import.meta.url).pathname, [group], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    try {
      const [said] = (await once(host, 'message')) as [{ cause: string; next: string }];
      expect(said.cause).toMatch(/SIGKILL|out of memory/);
      expect(said.next).toBe('returned');
    } finally {
      await ended(host);
      await until(() => isRemoved(group));
    }
  });
});

const isRemoved = (folder: string): boolean => {
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
};

async function ended(host: ChildProcess): Promise<void> {
  if (host.exitCode === null && host.signalCode === null) {
    host.kill('SIGKILL');
    await once(host, 'exit');
  }
}

describe('reasons', () => {
  it('reach a handler as the classes that it knows', async () => {
    const { start, cells } = stage();
    await cells.ready();
    for (const reason of [new LeaseLost('refused'), new Cancelled(), new ShuttingDown('deadline')]) {
      const run = start('heedSignal');
      run.abort(reason);
      const end = await run.end;
      expect(end).toMatchObject({ kind: 'threw', error: { text: expect.stringContaining(reason.message) } });
    }
  });
});
