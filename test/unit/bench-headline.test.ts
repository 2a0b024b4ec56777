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
});
