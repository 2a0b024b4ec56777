import { expect, it } from 'vitest';
import { parseJob } from '../../../lib/protocol/rows/parse-row.ts';
import { detailOf } from '../../../lib/tools/console/job-detail.ts';
import { settings } from '../../support/jobs.ts';
import { finishedRow, jobRow } from '../../support/rows.ts';

it('has a timeline in the order of time, with the end of an attempt before the end of its job', () => {
  const row = finishedRow('a', 'done', {
    ...{ attempt: 2, createdAt: 1_000, finishedAt: 9_000 },
    claim01: { attempt: 1, owner: 'w/1', from: 1_000, to: 5_000, outcome: 'lapsed' },
    claim02: { attempt: 2, owner: 'w/2', from: 6_000, to: 9_000, outcome: 'done' },
  });
  const { timeline } = detailOf(parseJob(row), 10_000, settings);
  expect(timeline.map(({ kind, at }) => `${kind} ${at}`)).toEqual([
    'created 1000',
    'claimed 1000',
    'reclaimed 5000',
    'fenced 5000',
    'claimed 6000',
    'done 9000',
    'finished 9000',
  ]);
});

it('announces the reclaim of a job whose lease has ended for the end of the clock skew', () => {
  const row = jobRow('r', {
    ...{ status: 'running', attempt: 1, leaseOwner: 'w/1', startedAt: 1_000 },
    ...{ heartbeatAt: 1_000, leaseUntil: 31_000 },
  });
  const { next } = detailOf(parseJob(row), 31_000, { ...settings, skewMs: 2_000 });
  expect(next[0]).toEqual({
    what: 'reclaimable',
    at: 33_000,
    message: 'its lease has ended; the reaper may reclaim it',
  });
});
