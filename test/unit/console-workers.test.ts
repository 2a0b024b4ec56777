import { describe, expect, it } from 'vitest';
import type { JobView } from '../../lib/console/protocol.ts';
import { processOf, workerOf } from '../../lib/console/worker-name.ts';
import { workersFromLeases } from '../../lib/console/workers-from-leases.ts';

const running = (jobId: string, leaseOwner: string, leaseUntil: number): JobView => ({
  jobId,
  type: 't',
  status: 'running',
  attempt: 1,
  errors: 0,
  crashes: 0,
  releases: 0,
  changedAt: 50,
  leaseOwner,
  leaseUntil,
});

describe('the workers of an account', () => {
  it('are those who hold leases, and stale once all of theirs have lapsed', () => {
    const jobs = [
      running('a', 'host-1/x', 200),
      running('b', 'host-1/y', 10),
      running('c', 'host-2/z', 99),
      { ...running('d', 'host-3/z', 500), status: 'done' as const },
    ];
    expect(workersFromLeases(jobs, 100)).toEqual([
      { name: 'host-1', state: 'busy', since: 50, jobs: ['a', 'b'] },
      { name: 'host-2', state: 'stale', since: 50, jobs: ['c'] },
    ]);
  });

  it('are named by the part of a lease’s owner that stays the same', () => {
    expect(workerOf('host-1/abc')).toBe('host-1');
    expect(workerOf('odd')).toBe('odd');
    expect(processOf('my-host-4711-aB_c')).toBe('process 4711');
    expect(processOf('someone')).toBeUndefined();
  });
});
