import { parseJob } from '../../lib/protocol/rows/parse-row.ts';
import type { BrokenPromise, Evidence } from './evidence.ts';

interface Line {
  readonly at: number;
  readonly text: string;
}

/** What happened to one job and to the processes that ran it, in order: the shortest account of a broken promise. */
function accountOf(jobId: string, evidence: Evidence): string {
  const journal = evidence.journal.filter((line) => line.jobId === jobId);
  const pids = new Set(journal.map(({ pid }) => pid));
  const row = evidence.rows.find((each) => each.jobId === jobId);
  const lines: Line[] = [
    ...journal.map(({ at, pid, event, attempt, step, reason }) => ({
      at,
      text: `${pid} attempt ${attempt}: ${event}${step === undefined ? '' : ` ${step}`}${reason === undefined ? '' : ` ${reason}`}`,
    })),
    ...evidence.events
      .filter((event) => event.jobId === jobId || (event.pid !== undefined && pids.has(event.pid)))
      .map(({ at, what, pid }) => ({ at, text: `${pid ?? ''} ${what}` })),
    ...(row === undefined ? [] : parseJob(row).claims).flatMap(({ attempt, owner, from, to, outcome }) => [
      { at: from, text: `row: attempt ${attempt} claimed by ${owner}` },
      { at: to, text: `row: attempt ${attempt} ${outcome}` },
    ]),
  ];
  const began = evidence.events[0]?.at ?? 0;
  return lines
    .sort((a, b) => a.at - b.at)
    .map(({ at, text }) => `${((at - began) / 1000).toFixed(3).padStart(9)} s  ${text}`)
    .join('\n');
}

/** The broken promises, each with the account of its job. */
export function tell(findings: readonly BrokenPromise[], evidence: Evidence): string {
  const jobs = [...new Set(findings.map(({ jobId }) => jobId))];
  return jobs
    .map((jobId) => {
      const row = evidence.rows.find((each) => each.jobId === jobId);
      const promises = findings.filter((each) => each.jobId === jobId).map(({ promise }) => `  ${promise}`);
      return [`${jobId}:`, ...promises, JSON.stringify(row), accountOf(jobId, evidence)].join('\n');
    })
    .join('\n\n');
}
