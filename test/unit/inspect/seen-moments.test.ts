import { describe, expect, it } from 'vitest';
import { parseJob } from '../../../lib/protocol/rows/parse-row.ts';
import { detailOf } from '../../../lib/tools/console/job-detail.ts';
import type { Moment } from '../../../lib/tools/inspect/moment.ts';
import { timelineOf } from '../../../lib/tools/inspect/timeline.ts';
import { settings } from '../../support/jobs.ts';
import { finishedRow, jobRow } from '../../support/rows.ts';

const lapsed = { attempt: 1, owner: 'w/1', from: 1_000, to: 5_000, outcome: 'lapsed' };
const done = { attempt: 2, owner: 'w/2', from: 6_000, to: 9_000, outcome: 'done' };
const job = parseJob(
  finishedRow('a', 'done', {
    attempt: 2,
    createdAt: 1_000,
    finishedAt: 9_000,
    claim01: lapsed,
    claim02: done,
  }),
);
const runningJob = (over: object) =>
  parseJob(jobRow('r', { status: 'running', attempt: 1, leaseOwner: 'w/1', startedAt: 1_000, ...over }));
const kinds = (seen: readonly Moment[]) => timelineOf(job, seen).map(({ kind, at }) => `${kind} ${at}`);

describe('a timeline with observed events', () => {
  it('needs only the row', () => {
    expect(kinds([])).toEqual([
      'created 1000',
      'claimed 1000',
      'reclaimed 5000',
      'fenced 5000',
      'claimed 6000',
      'done 9000',
      'finished 9000',
    ]);
  });

  it('shows an event from both row and bus once, with the row’s time and the bus’s text', () => {
    const told = timelineOf(job, [{ at: 5_004, kind: 'reclaimed', attempt: 1, text: '250 ms after' }]);
    expect(told.filter(({ kind }) => kind === 'reclaimed')).toEqual([
      {
        at: 5_000,
        kind: 'reclaimed',
        attempt: 1,
        text: '250 ms after',
        ranAgainMs: 1_000,
        message: 'its lease lapsed; the reaper reclaimed the job',
      },
    ]);
  });

  it('finds the attempt of a moment whose onlooker did not know it', () => {
    const [killed] = timelineOf(job, [{ at: 2_000, kind: 'killed' }]).filter(({ kind }) => kind === 'killed');
    expect(killed).toEqual({ at: 2_000, kind: 'killed', attempt: 1, message: 'its worker was killed' });
  });

  it('puts a checkpoint that was seen after its worker’s death before it', () => {
    expect(
      kinds([
        { at: 2_000, kind: 'killed', attempt: 1 },
        { at: 2_300, kind: 'checkpoint', attempt: 1 },
      ]),
    ).toEqual([
      'created 1000',
      'claimed 1000',
      'checkpoint 1999',
      'killed 2000',
      'reclaimed 5000',
      'fenced 5000',
      'claimed 6000',
      'done 9000',
      'finished 9000',
    ]);
  });

  it('ends with the end, though the last heartbeat was in the same millisecond', () => {
    expect(kinds([{ at: 9_000, kind: 'heartbeat', attempt: 2 }]).slice(-3)).toEqual([
      'heartbeat 9000',
      'done 9000',
      'finished 9000',
    ]);
  });

  it('shows a heartbeat from both row and observer once, and the earlier ones as well', () => {
    const running = runningJob({ heartbeatAt: 21_000, leaseUntil: 51_000 });
    const seen = [11_010, 11_900, 21_010].map((at): Moment => ({ at, kind: 'heartbeat', attempt: 1 }));
    const beats = timelineOf(running, seen).filter(({ kind }) => kind === 'heartbeat');
    expect(beats.map(({ at }) => at)).toEqual([11_010, 11_900, 21_000]);
  });
});

describe('the page of a job whose lease has ended', () => {
  it('announces the reclaim for the end of the clock skew, not before', () => {
    const running = runningJob({ heartbeatAt: 1_000, leaseUntil: 31_000 });
    const { next } = detailOf(running, 31_000, { ...settings, skewMs: 7_000 });
    expect(next[0]).toEqual({
      what: 'reclaimable',
      at: 38_000,
      message: 'its lease has ended; the reaper may reclaim it',
    });
  });

  it('counts a death to the attempt in which it happened, whichever the onlooker knew of', () => {
    const running = parseJob(
      jobRow('b', {
        ...{ status: 'running', attempt: 3, leaseShard: 'r0', leaseOwner: 'w/3', createdAt: 1_000 },
        ...{ startedAt: 9_500, heartbeatAt: 9_500, claim01: lapsed, claim02: { ...done, outcome: 'lapsed' } },
      }),
    );
    const killed = (at: number) =>
      timelineOf(running, [{ at, kind: 'killed' }]).find(({ kind }) => kind === 'killed')?.attempt;
    expect([2_000, 7_000, 9_500, 9_600].map(killed)).toEqual([1, 2, 3, 3]);
    // Between two claims it was nobody's.
    expect(killed(9_300)).toBeUndefined();
  });
});
