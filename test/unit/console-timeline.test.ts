import { describe, expect, it } from 'vitest';
import type { Moment } from '../../lib/console/protocol.ts';
import { timelineOf } from '../../lib/console/timeline.ts';
import { parseJob } from '../../lib/protocol/rows/parse-row.ts';
import { finishedRow } from '../support/console-stage.ts';

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
const kinds = (seen: readonly Moment[]) => timelineOf(job, seen).map(({ kind, at }) => `${kind} ${at}`);

describe('a timeline', () => {
  it('is told by the row alone', () => {
    expect(kinds([])).toEqual([
      'created 1000',
      'claimed 1000',
      'reclaimed 5000',
      'claimed 6000',
      'done 9000',
    ]);
  });

  it('tells an event once that both the row and the bus have, at the row’s time and in the bus’s words', () => {
    const told = timelineOf(job, [{ at: 5_004, kind: 'reclaimed', attempt: 1, text: '250 ms after' }]);
    expect(told.filter(({ kind }) => kind === 'reclaimed')).toEqual([
      { at: 5_000, kind: 'reclaimed', attempt: 1, text: '250 ms after' },
    ]);
  });

  it('finds the attempt of a moment whose onlooker did not know it', () => {
    const [killed] = timelineOf(job, [{ at: 2_000, kind: 'killed' }]).filter(({ kind }) => kind === 'killed');
    expect(killed).toEqual({ at: 2_000, kind: 'killed', attempt: 1 });
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
      'claimed 6000',
      'done 9000',
    ]);
  });

  it('ends with the end, though the last heartbeat was in the same millisecond', () => {
    expect(kinds([{ at: 9_000, kind: 'heartbeat', attempt: 2 }]).slice(-2)).toEqual([
      'heartbeat 9000',
      'done 9000',
    ]);
  });
});
