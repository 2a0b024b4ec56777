import { describe, expect, it } from 'vitest';
import { parseJob } from '../../../lib/protocol/rows/parse-row.ts';
import { leaseHolders } from '../../../lib/tools/inspect/lease-holders.ts';
import { leasePhase } from '../../../lib/tools/inspect/lease-phase.ts';
import { whyRefused } from '../../../lib/tools/inspect/why-refused.ts';
import { leaseEntry, settings } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

describe('the workers that leases show', () => {
  it('are STALE when every lease they hold has ended, the most silent first', () => {
    const views = leaseHolders(
      [
        leaseEntry({ jobId: 'a', leaseOwner: 'w2/1', leaseUntil: 200_000 }),
        leaseEntry({ jobId: 'b', leaseOwner: 'w2/2', leaseUntil: 100_000 }),
        leaseEntry({ jobId: 'c', leaseOwner: 'w1/1', leaseUntil: 150_000 }),
        leaseEntry({ jobId: 'd', leaseOwner: 'w0/1', leaseUntil: 150_000 }),
        leaseEntry({ jobId: 'e', leaseOwner: undefined as never, leaseUntil: 400_000 }),
        leaseEntry({ jobId: 'p', status: 'pending' }),
      ],
      150_000,
      settings,
    );
    expect(
      views.map(({ worker, state, jobs }) => [worker, state, jobs.map(({ isLapsed }) => isLapsed)]),
    ).toEqual([
      ['w0', 'STALE', [true]],
      ['w1', 'STALE', [true]],
      ['w2', 'live', [false, true]],
      ['unknown', 'live', [false]],
    ]);
    const tied = ['b', 'c', 'a'].map((worker) => leaseEntry({ leaseOwner: `${worker}/1` }));
    expect(leaseHolders(tied, 0, settings).map(({ worker }) => worker)).toEqual(['a', 'b', 'c']);
  });
});

describe('the phase of a lease', () => {
  it('is live until its end, ended while the skew lasts, and lapsed from then on', () => {
    const phases = [99_999, 100_000, 106_999, 107_000].map((now) =>
      leasePhase(100_000, now, { skewMs: 7_000 }),
    );
    expect(phases).toEqual(['live', 'ended', 'ended', 'lapsed']);
  });
});

describe('a refused act', () => {
  const why = (act: Parameters<typeof whyRefused>[0], over: Record<string, unknown>) =>
    whyRefused(act, parseJob(row(over)));
  const running = { status: 'running', startedAt: 70_000, heartbeatAt: 70_000, leaseUntil: 100_000 };

  it('is explained by the job’s current state', () => {
    expect(why('cancel', { status: 'done' })).toBe('cannot cancel a done job');
    expect(why('takeBack', {})).toBe('cannot take back a pending job; only a running one has a worker');
    expect(why('revive', running)).toBe('cannot revive a running job');
    expect(why('revive', {})).toBe('cannot revive a pending job');
    expect(why('revive', { status: 'done' })).toContain('under a new id');
    expect(why('revive', { status: 'failed', rawText: '{', rawBytes: 1, rawSha256: '' })).toContain(
      'could not be read',
    );
  });
});
