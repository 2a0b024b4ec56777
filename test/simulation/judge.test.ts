import { describe, expect, it } from 'vitest';
import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import type { Cells, RunEnd, Work } from '../../lib/worker/cells/cells.ts';
import type { ToCell } from '../../lib/worker/cells/channel.ts';
import { CellRules } from './cell-rules.ts';
import { Judge } from './judge.ts';
import { simulatedSettings } from './scenario.ts';
import { simulate } from './simulate.ts';
import { World } from './world.ts';

const jobId = 'job-1';
const budget = { attempt: 0, errors: 0, crashes: 0, lapses: 0, releases: 0, maxAttempts: 3, maxCrashes: 3 };
const unfinished = { leaseUntil: 1, leaseShard: 'q0', notBefore: 0 };
const pending: Row = { jobId, status: 'pending', ...budget, ...unfinished };
const cancelled: Row = { jobId, status: 'cancelled', ...budget, expiresAt: 1 };
const cancel: RowWrite = { transition: 'cancel', jobId, when: [], set: {}, returns: 'row' };

describe('the judge of a simulated schedule', () => {
  it('lets an operator’s call cancel the job that got its id while the call was under way, and no later', () => {
    const world = new World({ seed: 1, size: 'brief', maxOffsetMs: 0 });
    const judge = new Judge(world, simulatedSettings);
    const answered = judge.cancelIsWanted(jobId);
    judge.forget(jobId);
    judge.accept(jobId, 0);
    judge.observe(pending, cancelled, cancel);
    expect(world.violation).toBeUndefined();
    answered();
    judge.observe(pending, cancelled, cancel);
    expect(world.violation).toMatch(/nobody asks for it/);
  });
});

describe('the judge of cells', () => {
  const attempt = 1;
  const running: Row = { jobId, status: 'running', ...budget, ...unfinished, attempt };
  const restart: RowWrite = { transition: 'restart', jobId, when: [], set: {}, returns: 'row' };

  /** A host with a cell that was given a job, whose run ends as it is told. */
  const stage = () => {
    const world = new World({ seed: 1, size: 'brief', maxOffsetMs: 0 });
    const rules = new CellRules(world, simulatedSettings);
    const forever = () => new Promise<void>(() => {});
    const host = world.spawn('w1', forever);
    const first = world.spawn('cell1', forever, host);
    const ended = Promise.withResolvers<RunEnd>();
    const pool = { start: () => ({ end: ended.promise, abort() {}, kill() {} }) } as Partial<Cells> as Cells;
    const run = rules.watchCells(host, pool).start({ job: { jobId, attempt } } as Work);
    rules.sent(first, [{ kind: 'run', run: 1, job: { jobId, attempt } } as ToCell]);
    rules.entered(first, { jobId, attempt });
    const handler = { jobId, attempt, process: first, believesLive: () => true };
    const end = async (how: RunEnd) => {
      ended.resolve(how);
      await run.end;
    };
    return { rules, first, handler, end };
  };
  const charged = (rules: CellRules) => rules.problems(running, { ...running, crashes: 1 }, restart);

  it('lets a job be charged for its cell though its handler had ended, as long as its host did not hear of that', async () => {
    const { rules, first, handler, end } = stage();
    rules.begun(first, handler);
    rules.ended(handler);
    rules.died(first);
    expect(charged(rules)).toEqual([]);
    await end({ kind: 'returned' });
    expect(charged(rules)).toEqual([expect.stringContaining('heard of its end')]);
  });

  it('lets no job be charged that was not alone', () => {
    const { rules, first, handler } = stage();
    rules.entered(first, { jobId: 'job-2', attempt });
    rules.begun(first, handler);
    rules.died(first);
    expect(charged(rules)).toEqual([expect.stringContaining('not alone')]);
  });
});

it('tells two claims of one job apart for which a worker beats in one request', async () => {
  const bug = { name: 'none', breaks: /^$/, rates: { indexLags: 3, diesAtAwait: 3 } };
  expect((await simulate({ seed: 150, size: 'brief', bug })).violation).toBeUndefined();
});
