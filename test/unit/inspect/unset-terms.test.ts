import { describe, expect, it } from 'vitest';
import { decideCrash } from '../../../lib/protocol/decisions/decide-crash.ts';
import { parseJob, parseLeaseEntry } from '../../../lib/protocol/rows/parse-row.ts';
import { detailOf } from '../../../lib/tools/console/job-detail.ts';
import { summaryOfEntry, summaryOfJob } from '../../../lib/tools/console/job-summary.ts';
import { factsOf, tellFacts } from '../../../lib/tools/inspect/facts.ts';
import { nextSteps } from '../../../lib/tools/inspect/next-steps.ts';
import { isQuarantined } from '../../../lib/tools/inspect/timeline.ts';
import { settings } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

const NOW = 90_000;
const unset = { leaseMs: undefined, maxAttempts: undefined, maxCrashes: undefined };
const pending = row(unset);

describe('a job whose type’s terms no claim has set yet', () => {
  it('is explained without budgets, and with what happens next', () => {
    const job = parseJob(pending);
    expect(tellFacts(factsOf(job), job.status)).toContain('when it fails for good is set at the first claim');
    expect(nextSteps(job, NOW, settings).map(({ what }) => what)).toContain('claim');
  });

  it('is shown by the console, from its row and from the index', () => {
    const detail = detailOf(parseJob(pending), NOW, settings);
    expect(detail).toMatchObject({ ...unset, job: { jobId: 'j1', status: 'pending' } });
    const [ofRow, ofEntry] = [
      summaryOfJob(parseJob(pending), NOW),
      summaryOfEntry(parseLeaseEntry(pending), NOW),
    ];
    expect([ofRow, ofEntry]).toMatchObject([
      { leaseUntil: 100_000, leaseMs: undefined },
      { leaseUntil: 100_000, leaseMs: undefined },
    ]);
  });
});

it('crashes up to the attempts are a quarantine, where the message allowed fewer attempts than the type crashes', () => {
  const failed = { status: 'failed', maxAttempts: 2, maxCrashes: 3 };
  expect(isQuarantined(parseJob(row({ ...failed, crashes: 2 })))).toBe(true);
  expect(isQuarantined(parseJob(row({ ...failed, crashes: 1, errors: 1 })))).toBe(false);
  const running = {
    ...{ attempt: 2, errors: 0, crashes: 1, lapses: 0, releases: 0 },
    ...{ maxAttempts: 2, maxCrashes: 3 },
  };
  const crash = { chargedTo: 'crashes', settings } as const;
  expect(decideCrash(running, crash)).toMatchObject({ kind: 'fail', quarantined: true, crashes: 2 });
  expect(decideCrash({ ...running, errors: 1, crashes: 0 }, crash)).toMatchObject({ quarantined: false });
});
