import { describe, expect, it } from 'vitest';
import { headlineSection } from '../../bench/report/headline.ts';
import type { Results } from '../../bench/report/results.ts';

const of = (median: number) => ({ median, lowest: median, highest: median, runs: 5 });
const crash = (ms: number) => ({ spread: of(ms), lost: 0, addedMs: 0 });
const point = (step: number, jobsPerSecond: number) => ({
  ...{ concurrency: 100, step, latency: 'any', unfinished: 0 },
  ...{ jobsPerSecond: of(jobsPerSecond), requestsPerJob: of(1), cpuMsPerJob: of(1) },
});
const rowsOf = (results: Results) =>
  headlineSection(results)
    .split('\n')
    .slice(2)
    .map((line) => line.slice(2, -2).split(' | '));

describe('the headlines', () => {
  it('set each figure next to the best peer’s, whichever way is better', () => {
    const rows = rowsOf({
      crashDefault: { leasehold: crash(30_000), slow: crash(60_000), quick: crash(20_000) },
      atLatency: { leasehold: [point(2, 500)], slow: [point(2, 250)], quick: [point(2, 1000)] },
    });
    expect(rows.filter(([what]) => /default settings|jobs\/s/.test(what ?? ''))).toEqual([
      [expect.any(String), '30 s', '20 s', 'quick', 'worse'],
      [expect.any(String), '500', '1,000', 'quick', 'worse'],
    ]);
  });

  it('begin with what Leasehold is best at', () => {
    const rows = rowsOf({
      crashDefault: { leasehold: crash(30_000), peer: crash(20_000) },
      crashFast: { leasehold: crash(5000), peer: crash(20_000) },
    });
    expect(rows.map((row) => row.at(-1))).toEqual(['better', 'worse']);
  });

  it('take the throughput at typical latency', () => {
    const rows = rowsOf({
      atLatency: { leasehold: [point(0, 1), point(2, 3)], peer: [point(0, 1), point(2, 3)] },
    });
    expect(rows[0]?.slice(1, 3)).toEqual(['3', '3']);
  });

  it('omit scenarios not measured for Leasehold or for any peer', () => {
    expect(rowsOf({ crashDefault: { leasehold: crash(1) }, crashFast: { peer: crash(1) } })).toEqual([]);
  });
});
