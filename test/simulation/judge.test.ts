import { describe, expect, it } from 'vitest';
import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import { Judge } from './judge.ts';
import { simulatedSettings } from './scenario.ts';
import { World } from './world.ts';

const jobId = 'job-1';
const budget = { attempt: 0, errors: 0, crashes: 0, releases: 0, maxAttempts: 3, maxCrashes: 3 };
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
