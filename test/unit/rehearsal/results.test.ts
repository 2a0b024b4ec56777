import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { metrics } from '../../../lib/wire/metrics.ts';
import { DRIVEN_ALARMS } from '../../../rehearsal/alarms.ts';
import { judgeChain, LATE_MS } from '../../../rehearsal/chain.ts';
import { judgeLapses, RECLAIM_DELAY_MS, RECOVERY_MS } from '../../../rehearsal/lapses.ts';

const doc = (name: string) => readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', name), 'utf8');

describe('a measured bound', () => {
  const lapses = (delay: number, recovery: number) => ({
    jobIds: [],
    delays: [delay],
    recoveries: [recovery],
  });

  it('may be reached, and not exceeded by a millisecond', () => {
    expect(judgeLapses(lapses(RECLAIM_DELAY_MS, RECOVERY_MS))).toHaveLength(2);
    expect(() => judgeLapses(lapses(RECLAIM_DELAY_MS + 1, RECOVERY_MS))).toThrow('later than promised');
    expect(() => judgeLapses(lapses(RECLAIM_DELAY_MS, RECOVERY_MS + 1))).toThrow('later than promised');
    expect(judgeChain([0, LATE_MS])).toHaveLength(1);
    expect(() => judgeChain([0, LATE_MS + 1])).toThrow('late');
  });

  it('is the one that the docs state', () => {
    expect(doc('guarantees.md')).toContain(`lease + skew + 2 s | ${RECOVERY_MS / 1000} s |`);
    expect(doc('operating/runbook.md')).toContain(
      "a minute or two for our metrics and Lambda's, up to five for SQS's",
    );
    expect(metrics.ReaperLate.description).toContain(
      `more than ${LATE_MS / 1000} s after they were promised`,
    );
    const rows = doc('operating/runbook.md').split('\n');
    for (const { title, minutes } of Object.values(DRIVEN_ALARMS))
      expect(
        rows.find((row) => row.includes(`| ${title} |`)),
        title,
      ).toContain(`| ${title} | ${minutes} min |`);
  });
});
