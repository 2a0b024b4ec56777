import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { Cancelled } from '../../lib/worker/abort-reasons.ts';
import type { Cells } from '../../lib/worker/cells/cells.ts';
import { cellStage, resultOf, type StageOptions, until } from '../support/cell-stage.ts';
import { isDeep } from '../support/depth.ts';
import { isAlive } from '../support/is-alive.ts';
import { childrenOf } from '../support/mortal-process.ts';

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

describe('a cell whose pulse is late', () => {
  it('is given no job, and one that it was given and did not begin runs elsewhere', async () => {
    const { start, cells } = stage({ settings: { maxStallMs: 3_600_000 } });
    await cells.ready();
    const blocking = start('compute', { ms: 60_000 });
    await until(() => blocking.hasStarted());
    // Handed over before the host can know that nothing moves there.
    const early = await resultOf(start('return'));
    const later = await resultOf(start('return'));
    blocking.abort(new Cancelled());
    const { pid } = await resultOf(blocking);
    expect([early.pid, later.pid]).not.toContain(pid);
  });
});

describe('a whole worker that stands still', () => {
  it('is not stalled: its cell lives on, and its job ends as it would have', async () => {
    const host = fork(new URL('../support/frozen-host.ts', import.meta.url).pathname, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    await once(host, 'message');
    const all = [host.pid ?? 0, ...childrenOf(host.pid ?? 0)];
    const answer = once(host, 'message');
    for (const pid of all) process.kill(pid, 'SIGSTOP');
    // Twice as long as a cell may be stuck.
    await sleep(2000);
    for (const pid of all) process.kill(pid, 'SIGCONT');
    const [end] = await answer;
    expect(end).toMatchObject({ kind: 'returned' });
  });
});

describe('a host that stands still while its cell goes on', () => {
  it('does not keep a handler that waits for its signal from hearing it when the lease is over', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'leasehold-signal-'));
    const journal = join(folder, 'journal');
    const host = fork(new URL('../support/frozen-host.ts', import.meta.url).pathname, ['listen', journal], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const told = () => (existsSync(journal) ? readFileSync(journal, 'utf8') : '');
    await until(() => told().includes('"jobId"'));
    host.kill('SIGSTOP');
    await until(() => told().includes('the lease ran out'));
    host.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });
});

describe('signals that are meant for the host', () => {
  it('do not end a cell: SIGINT, SIGTERM and SIGHUP', async () => {
    const { start, cells } = stage();
    await cells.ready();
    const { pid } = await resultOf(start('return'));
    const run = start('return', { ms: 500 });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid as number, signal);
    expect(await resultOf(run)).toMatchObject({ pid });
  });
});

describe('a handler that replaces the timers and the clock of its process', () => {
  it('ends as others do, and so does the next', async () => {
    const { start, cells } = stage({ cells: 1, spare: false });
    await cells.ready();
    await resultOf(start('stopTimers'));
    await resultOf(start('return'));
  });
});

describe('a cell in which a handler has left something broken', () => {
  it.each(isDeep ? ['JSON', 'Date', 'setTimeout', 'descriptors'] : ['JSON', 'descriptors'])(
    'is drained and replaced, though it is never idle (%s)',
    async (place) => {
      const { start, cells, telemetry } = stage({ cells: 1, spare: false });
      await cells.ready();
      const { pid } = await resultOf(start('return'));
      const kept = start('heedSignal');
      await resultOf(start('poison', { place }));
      await until(() => telemetry.lines.some(({ message }) => message === 'a cell is retired'));
      const next = await resultOf(start('return'));
      expect(next.pid).not.toBe(pid);
      expect(isAlive(pid as number)).toBe(true);
      kept.abort(new Cancelled());
      await kept.end;
      await until(() => !isAlive(pid as number));
    },
  );

  it('answers a handler that removed the listeners of its process', async () => {
    const { start, cells } = stage({ cells: 1, spare: false });
    await cells.ready();
    const run = start('saveUnheard');
    expect(await run.end).toEqual({ kind: 'returned', result: '"saved"' });
    expect(run.saved).toHaveLength(1);
  });

  const faults = [
    ['Date', 'Date.now() is wrong'],
    ['Object.prototype', "Object.prototype has 'polluted'"],
  ] as const;
  it.each(isDeep ? faults : faults.slice(0, 1))(
    'excuses a job that failed in it once, and not again (%s)',
    async (place, fault) => {
      const { start, cells } = stage({ cells: 1, spare: false });
      await cells.ready();
      const fail = async (isExcusable: boolean) => {
        const kept = start('heedSignal');
        await resultOf(start('poison', { place }));
        const failed = await start({ type: 'act', payload: { act: 5 } }, {}, { isExcusable }).end;
        kept.abort(new Cancelled());
        await kept.end;
        return failed;
      };
      const excused = await fail(true);
      expect(excused).toMatchObject({ kind: 'died', crashedAlone: false });
      expect('cause' in excused && excused.cause.split('; its handler threw ')).toEqual([
        `its cell was unwell (${fault})`,
        expect.any(String),
      ]);
      expect(await fail(false)).toMatchObject({ kind: 'threw' });
    },
  );

  it('is kept where its handlers live with a polluted Object.prototype', async () => {
    const { start, cells } = stage({ cells: 1, spare: false });
    await cells.ready();
    const { pid } = await resultOf(start('poison', { place: 'Object.prototype' }));
    expect(await resultOf(start('return', { ms: 1000 }))).toMatchObject({ pid });
    expect(await resultOf(start('return'))).toMatchObject({ pid });
  });
});

describe('where a message came from', () => {
  it('is told to its handler: the trace’s header', async () => {
    const { start } = stage();
    const traceId = 'Root=1-67891233-abcdef012345678912345678';
    expect(await resultOf(start('origin', {}, { origin: { traceId, requestId: 'r-1' } }))).toEqual({
      traceId,
    });
  });
});

const PRINTING_HOST = new URL('../support/printing-host.ts', import.meta.url).pathname;

describe('what handlers print', () => {
  it('comes in whole lines that name job, attempt and request, also from two cells at once', async () => {
    const LINES = 40;
    const printer = spawn(process.execPath, [PRINTING_HOST, String(LINES)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    printer.stdout.on('data', (bytes: Buffer) => {
      out += bytes.toString();
    });
    printer.stderr.resume();
    await once(printer, 'close');
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    for (const jobId of ['job-1', 'job-2']) {
      const mine = lines.filter((line) => line.jobId === jobId);
      expect(mine.filter(({ message }) => /^x{5000} \d+$/.test(String(message)))).toHaveLength(LINES);
      expect(mine.filter(({ message }) => /^y{5000}$/.test(String(message)))).toHaveLength(LINES);
      for (const line of mine)
        expect(line).toMatchObject({ attempt: 1, function_request_id: `request-${jobId}` });
    }
  });
});
