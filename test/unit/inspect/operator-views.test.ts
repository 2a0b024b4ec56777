import { describe, expect, it } from 'vitest';
import { leaseEntryOf } from '../../../lib/protocol/job.ts';
import { parseJob } from '../../../lib/protocol/rows/parse-row.ts';
import { allLeases } from '../../../lib/protocol/store/all-leases.ts';
import type { Place } from '../../../lib/protocol/store/merged-shards.ts';
import { lastBeatAt, leaseLength } from '../../../lib/settings/lease-length.ts';
import { reclaimDelayBound, recoveryBound } from '../../../lib/settings/recovery-bound.ts';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { factsOf, tellFacts } from '../../../lib/tools/inspect/facts.ts';
import { leaseHolders } from '../../../lib/tools/inspect/lease-holders.ts';
import { leasePhase } from '../../../lib/tools/inspect/lease-phase.ts';
import { nextSteps } from '../../../lib/tools/inspect/next-steps.ts';
import { timelineOf } from '../../../lib/tools/inspect/timeline.ts';
import { whyRefused } from '../../../lib/tools/inspect/why-refused.ts';
import { workerOf } from '../../../lib/tools/inspect/worker-name.ts';
import { leaseEntry, settings } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

const grown = { leaseGrowth: 0.1, leaseGrowthCapMs: 60_000 };
const fixed = { leaseGrowth: 0, leaseGrowthCapMs: 60_000 };

describe('the length of a lease', () => {
  it.each([
    [0, 30_000],
    [300_000, 30_000],
    [300_010, 30_001],
    [600_000, 60_000],
    [9_000_000, 60_000],
  ])('of an attempt of age %i ms is %i ms where leases grow', (age, length) => {
    expect(leaseLength(30_000, age, grown)).toBe(length);
    expect(leaseLength(30_000, age, fixed)).toBe(30_000);
  });

  it.each([0, 100_000, 400_000, 9_000_000])('tells when its last beat was sent, at age %i ms', (age) => {
    const beat = 70_000 + age;
    const entry = leaseEntry({ startedAt: 70_000, leaseUntil: beat + leaseLength(30_000, age, grown) });
    expect(lastBeatAt(entry, grown)).toBe(beat);
    expect(lastBeatAt({ leaseUntil: 100_000, leaseMs: 30_000 }, grown)).toBe(70_000);
    expect(lastBeatAt(leaseEntry(), fixed)).toBe(70_000);
  });

  it('is part of the bound on recovery, as the oldest attempt has it', () => {
    expect(recoveryBound(resolveSettings({ leaseGrowth: 1, leaseGrowthCapMs: 600_000 })).usualMs).toBe(
      604_000,
    );
  });
});

describe('the longest delay of a reclaim', () => {
  it('is the skew and two seconds', () => {
    expect(reclaimDelayBound(resolveSettings())).toBe(4000);
  });
});

describe('all leases', () => {
  const table = createMemoryTable();
  for (const [n, leaseUntil] of [5, 1, 3, 4, 2, 6].entries())
    table.put(row({ jobId: `j${n}`, leaseShard: `r${n % 2}`, leaseUntil }));
  table.put(row({ jobId: 'bad', leaseShard: 'r1', leaseUntil: 0, attempt: 'x' }));
  const read = async (request: { upTo?: number; from?: Place }) => {
    const ends: (number | string)[] = [];
    let last: Place | undefined;
    for await (const found of allLeases(table, { shards: ['r0', 'r1', 'r2'], pageSize: 1, ...request })) {
      ends.push(found.entry?.leaseUntil ?? 'bad');
      last = found.place ?? last;
      if (found.entry?.leaseUntil === 3 && request.from === undefined && request.upTo === undefined) break;
    }
    return { ends, last };
  };

  it('of several shards come as one list, soonest first, unreadable rows apart', async () => {
    expect((await read({ upTo: 9 })).ends).toEqual(['bad', 1, 2, 3, 4, 5, 6]);
    expect((await read({ upTo: 2 })).ends).toEqual(['bad', 1, 2]);
  });

  it('go on where an earlier reader stopped', async () => {
    const { ends, last } = await read({});
    expect(ends).toEqual(['bad', 1, 2, 3]);
    expect((await read({ from: last })).ends).toEqual([4, 5, 6]);
  });
});

describe('the workers that leases show', () => {
  it('are named by what stands before the last slash', () => {
    expect(['host/a/x1', 'host', '/x'].map(workerOf)).toEqual(['host/a', 'host', '/x']);
  });

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
  // A grace was once forgotten, and a reclaim announced before the reaper may act.
  it('is live until its end, ended while skew and grace last, and lapsed from then on', () => {
    const phases = [99_999, 100_000, 106_999, 107_000].map((now) =>
      leasePhase(100_000, now, { skewMs: 2_000, graceMs: 5_000 }),
    );
    expect(phases).toEqual(['live', 'ended', 'ended', 'lapsed']);
  });
});

describe('a refused act', () => {
  const why = (act: Parameters<typeof whyRefused>[0], over: Record<string, unknown>) =>
    whyRefused(act, parseJob(row(over)));
  const running = { status: 'running', startedAt: 70_000, heartbeatAt: 70_000, leaseUntil: 100_000 };

  it('is told from the job as it is now', () => {
    expect(why('cancel', { status: 'done' })).toBe('cannot cancel a done job');
    expect(why('takeBack', {})).toBe('cannot take back a pending job; only a running one has a worker');
    expect(why('revive', running)).toBe('cannot revive a running job');
    expect(why('revive', {})).toBe('cannot revive a pending job');
    expect(why('revive', { status: 'done' })).toContain('under a new id');
    expect(why('revive', { status: 'failed', rawText: '{', rawBytes: 1, rawSha256: '' })).toContain(
      'could not be read',
    );
  });

  it.each([
    ['cancel', {}],
    ['takeBack', running],
    ['revive', { status: 'failed' }],
    ['revive', { status: 'cancelled' }],
  ] as const)('%s of a job that allows it is one that lost a race', (act, over) => {
    expect(why(act, over)).toContain('changed meanwhile');
  });
});

describe('what happens next', () => {
  const says = (over: Record<string, unknown>, now: number) =>
    nextSteps(parseJob(row(over)), now, settings)
      .map((step) => step.says)
      .join(' | ');
  const running = { status: 'running', startedAt: 70_000, heartbeatAt: 70_000, leaseUntil: 100_000 };

  it('to a running job is its lease’s end, then the reaper’s verdict, then a delay that somebody must look into', () => {
    expect(says(running, 99_999)).toContain('its lease ends, unless');
    expect(says(running, 100_000)).toContain('its lease has ended; the reaper may reclaim it');
    expect(says(running, 1_000_000)).toContain('OVERDUE');
    expect(says(running, 0)).toContain('given to the next worker (crash 1 of 3)');
    expect(says({ ...running, crashes: 2 }, 0)).toContain('quarantined: crash 3 of 3');
    expect(says({ ...running, errors: 4 }, 0)).toContain('failed: errors and crashes reach 5');
    expect(says({ ...running, cancelRequested: true }, 0)).toMatch(
      /next heartbeat.*cancelled, as an operator asked/,
    );
  });

  it('to a pending job is its due time, a claim, or another hint', () => {
    expect(says({ notBefore: 50 }, 10)).toMatch(/becomes due.*sent once.*sends another hint/);
    expect(says({ dispatches: 0 }, 10)).toContain('the reaper sends it to the queue');
    expect(says({ dispatches: 0 }, 100_000)).toContain('sent 0 times');
    expect(says({}, 1_000_000)).toContain('OVERDUE');
    expect(says({ cancelRequested: true }, 0)).toContain('cancelled by whoever handles it next');
  });

  it('to a finished job is up to an operator', () => {
    expect(says({ status: 'done' }, 0)).toContain('nothing');
    expect(says({ status: 'failed' }, 0)).toContain('leasehold revive j1');
    expect(says({ status: 'cancelled' }, 0)).toContain('leasehold revive j1');
    expect(says({ status: 'failed', rawText: '{', rawBytes: 1, rawSha256: '' }, 0)).toContain(
      'cannot be revived',
    );
  });

  it('is decided from what the index would show of the job', () => {
    for (const over of [{}, running, { leaseOwner: undefined }]) {
      const job = parseJob(row(over));
      if (job.status === 'pending' || job.status === 'running')
        expect(leaseEntryOf(job)).toMatchObject({ jobId: 'j1', status: job.status, attempt: 1 });
    }
  });
});

describe('the timeline of a job', () => {
  const claim = (attempt: number, outcome: string) => ({
    attempt,
    owner: `w/${attempt}`,
    from: attempt * 10,
    to: attempt * 10 + 5,
    outcome,
  });
  const told = (over: Record<string, unknown>) => {
    const job = parseJob(row({ createdAt: 1, ...over }));
    const events = timelineOf(job, settings).map(
      ({ kind, says, text }) => `${kind}: ${says}${text === undefined ? '' : `: ${text}`}`,
    );
    return { events, facts: tellFacts(factsOf(job), job.status).join(' | ') };
  };

  it('tells every claim that the row remembers, and how it ended', () => {
    const { events, facts } = told({
      status: 'failed',
      attempt: 6,
      lastError: 'boom',
      claim01: claim(1, 'lapsed'),
      claim02: claim(2, 'retried'),
      claim03: claim(3, 'released'),
      claim04: claim(4, 'mystery'),
      claim06: claim(6, 'failed'),
    });
    expect(events).toEqual([
      "created: first seen as a 'report' job",
      'claimed: claimed by w/1',
      'reclaimed: its lease lapsed; the reaper reclaimed the job',
      'fenced: fenced: whatever w/1 still writes is refused',
      'claimed: claimed by w/2',
      'retried: its handler threw; the job will be retried',
      'claimed: claimed by w/3',
      'released: released by its worker (deadline or shutdown)',
      'claimed: claimed by w/4',
      'released: ended (mystery)',
      'claimed: claimed by w/6',
      'failed: its handler threw; the job failed: boom',
      'finished: failed: boom',
    ]);
    expect(facts).toContain('attempt 5 left no entry');
  });

  it('tells what ended each claim, and what operators did', () => {
    const { events } = told({
      status: 'pending',
      attempt: 2,
      lastError: 'worker lease expired',
      claim01: { ...claim(1, 'retried'), cause: 'Error: no route' },
      claim02: claim(2, 'takenBack'),
      acted: 3,
      act0: { act: 'takeBack', by: 'cli-ann', at: 25 },
      act1: { act: 'cancel', by: 'cli-ann', at: 40 },
      act2: { act: 'revive', by: 'console', at: 50 },
    });
    expect(events.filter((each) => !each.startsWith('claimed')).slice(1)).toEqual([
      'retried: its handler threw; the job will be retried: Error: no route',
      'takenBack: taken back by cli-ann',
      'cancelRequested: cancellation requested by cli-ann',
      'revived: revived by console',
    ]);
  });

  it('tells of the claim that runs now, and its last beat', () => {
    const running = {
      status: 'running',
      attempt: 25,
      startedAt: 60_000,
      leaseUntil: 100_000,
      progress: '0.5',
      checkpointSeq: 2,
      cancelRequested: true,
    };
    const { events, facts } = told(running);
    expect(events.slice(-2)).toEqual(['claimed: claimed by w/1', 'heartbeat: last heartbeat of w/1']);
    expect(facts).toMatch(
      /attempts 1 to 4 are older.*checkpoint 2 is saved.*progress: 0.5.*asked to cancel it/,
    );
    expect(told({ ...running, heartbeatAt: 60_000, leaseUntil: 90_000 }).events.at(-1)).toBe(
      'claimed: claimed by w/1',
    );
  });

  it('tells what a last lapse led to, and what is left of a job that went on from a checkpoint', () => {
    const lapsed = (status: string, more = {}) =>
      told({ status, claim01: claim(1, 'lapsed'), ...more }).events.join(' | ');
    expect(lapsed('failed')).toContain('failed the job');
    expect(lapsed('failed', { crashes: 3 })).toContain('quarantined the job');
    expect(lapsed('pending', { lastError: 'worker lease expired' })).not.toContain('expired');
    expect(lapsed('cancelled')).toContain('cancelled the job, as an operator had asked');
    expect(lapsed('pending')).toContain('reclaimed the job');
    expect(told({ status: 'done', checkpointSeq: 3 }).facts).toContain('checkpoint 3 is saved |');
    expect(told({ status: 'pending', checkpointSeq: 3 }).facts).toContain('continues from there');
  });

  it('tells the end of a job that never failed, and of a message that is none', () => {
    expect(told({ status: 'done', claim01: claim(1, 'done') }).events.at(-1)).toBe('finished: done');
    expect(told({}).events).toHaveLength(1);
    expect(told({ status: 'failed', rawText: '{', rawBytes: 1, rawSha256: '' }).events[0]).toContain(
      'cannot be run',
    );
  });
});
