import { parseJob } from '../../lib/protocol/rows/parse-row.ts';
import type { BrokenPromise, ChaosEvent, Evidence } from './evidence.ts';

interface Line {
  readonly at: number;
  readonly text: string;
}

/** What befalls nobody in particular, an outage or a pause of the reapers, matters to a job from so long before its claims on. */
const AROUND_MS = 15_000;

/** The process that made a claim, by the claim's owner. */
export const pidOf = (owner: string): number => Number(/-(\d+)-[\w-]+\//.exec(owner)?.[1]);

/** What happened to one job and to the processes that ran it, in order: the shortest account of a broken promise. */
function accountOf(jobId: string, evidence: Evidence): string {
  const journal = evidence.journal.filter((line) => line.jobId === jobId);
  const row = evidence.rows.find((each) => each.jobId === jobId);
  const claims = row === undefined ? [] : parseJob(row).claims;
  const pids = new Set([...journal.map(({ pid }) => pid), ...claims.map(({ owner }) => pidOf(owner))]);
  const isAround = ({ at, what, pid }: ChaosEvent) =>
    (pid === undefined || what.startsWith('reaper')) &&
    claims.some(({ from, to }) => at > from - AROUND_MS && at < to + AROUND_MS);
  const lines: Line[] = [
    ...journal.map(({ at, pid, event, attempt, step, reason }) => ({
      at,
      text: `${pid} attempt ${attempt}: ${event}${step === undefined ? '' : ` ${step}`}${reason === undefined ? '' : ` ${reason}`}`,
    })),
    ...evidence.events
      .filter(
        (event) =>
          event.jobId === jobId || (event.pid !== undefined && pids.has(event.pid)) || isAround(event),
      )
      .map(({ at, what, pid }) => ({ at, text: `${pid ?? ''} ${what}` })),
    ...claims.flatMap(({ attempt, owner, from, to, outcome, cause }) => [
      { at: from, text: `row: attempt ${attempt} claimed by ${owner}` },
      { at: to, text: `row: attempt ${attempt} ${outcome}${cause === undefined ? '' : `: ${cause}`}` },
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
