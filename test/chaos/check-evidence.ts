import { lapseLimit } from '../../lib/protocol/decisions/decide-reap.ts';
import type { Job } from '../../lib/protocol/job.ts';
import { parseJob } from '../../lib/protocol/rows/parse-row.ts';
import { shapeProblems } from '../simulation/row-rules.ts';
import type { JournalLine } from '../support/journal.ts';
import type { BrokenPromise, Evidence } from './evidence.ts';

/** How much later than its successor's start a starved process may still notice that its lease is gone. */
const NOTICE_MS = 1500;

/** Every promise that the run broke. */
export function checkEvidence(evidence: Evidence): readonly BrokenPromise[] {
  const rows = new Map(evidence.rows.map((row) => [String(row.jobId), row]));
  const journal = Map.groupBy(evidence.journal, ({ jobId }) => jobId);
  const findings: BrokenPromise[] = evidence.overdue.map((jobId) => ({
    jobId,
    promise: 'a lapsed lease is taken back within the bound',
  }));
  for (const jobId of evidence.accepted) {
    const row = rows.get(jobId);
    const broken = (promise: string) => findings.push({ jobId, promise });
    if (row === undefined) {
      broken('an accepted job has a row');
      continue;
    }
    for (const problem of shapeProblems(row)) broken(`a row is well-formed: ${problem}`);
    const lines = journal.get(jobId) ?? [];
    for (const promise of [
      ...endProblems(parseJob(row), evidence),
      ...runProblems(parseJob(row), lines),
      ...overlaps(jobId, lines, evidence),
      ...lostCheckpoints(lines),
    ])
      broken(promise);
  }
  return [...findings, ...indexProblems(evidence)];
}

/** Every job ends, once, and for a reason that is allowed. */
function endProblems(job: Job, { settings, cancelled }: Evidence): string[] {
  const problems: string[] = [];
  const { status, attempt, errors, crashes, lapses, releases } = job;
  const { maxAttempts = Number.POSITIVE_INFINITY, maxCrashes = Number.POSITIVE_INFINITY } = job;
  const spent =
    errors + crashes >= maxAttempts || crashes >= maxCrashes || lapses >= lapseLimit(job, settings);
  if (status === 'pending' || status === 'running') problems.push(`a job ends; this one is ${status}`);
  if (status === 'failed' && !spent && releases < settings.maxReleases && !isGivenUp(job))
    problems.push(
      `a job fails only when its budget is spent; this one had ${errors} errors, ${crashes} crashes, ${lapses} lapses`,
    );
  if (status === 'cancelled' && !cancelled.has(job.jobId))
    problems.push('a job is cancelled only on request');
  // A result that is kept beside the row is not read here; its key names the attempt.
  const isHere = !job.externalFields.includes('result');
  if (status === 'done' && isHere && (job.result as { attempt?: number } | undefined)?.attempt !== attempt)
    problems.push(`the result is the last attempt's; this is ${JSON.stringify(job.result)} of ${attempt}`);
  const done = job.claims.filter(({ outcome }) => outcome === 'done').length;
  if (done !== (status === 'done' ? 1 : 0)) problems.push(`a job completes once; this one did ${done} times`);
  if (errors + crashes + lapses + releases > attempt)
    problems.push(
      `a claim is charged once; ${attempt} claims were charged ${errors + crashes + lapses + releases} times`,
    );
  return problems;
}

const isGivenUp = (job: Job): boolean => job.lastError?.includes('planned, for good') ?? false;

/** Each claim runs its handler at most once, and none after the job is over. */
function runProblems(job: Job, lines: readonly JournalLine[]): string[] {
  const starts = lines.filter(({ event }) => event === 'start').map(({ attempt }) => attempt);
  const problems: string[] = [];
  if (new Set(starts).size !== starts.length) problems.push(`one claim runs once; runs were ${starts}`);
  if (starts.some((attempt) => attempt > job.attempt))
    problems.push(`a finished job does not run again; runs were ${starts}, the last claim ${job.attempt}`);
  return problems;
}

/** No handler goes on beside its successor, unless it could not know: stopped, or its job taken away by an operator. */
function overlaps(jobId: string, lines: readonly JournalLine[], { pauses, takenBack }: Evidence): string[] {
  const starts = lines.filter(({ event }) => event === 'start');
  return starts.flatMap((start) => {
    const successor = starts.find(({ attempt }) => attempt > start.attempt);
    if (successor === undefined || takenBack.has(jobId)) return [];
    const late = lines.findLast(
      ({ event, attempt, at }) =>
        event === 'effect' && attempt === start.attempt && at > successor.at + NOTICE_MS,
    );
    if (late === undefined || heedless(lines, start.attempt)) return [];
    const couldNotKnow = pauses.some(
      ({ pid, from, to }) => pid === start.pid && from < late.at && to > start.at,
    );
    return couldNotKnow
      ? []
      : [`two workers never work at once; attempt ${start.attempt} went on beside ${successor.attempt}`];
  });
}

/** A handler that ignored its signal had been told. */
const heedless = (lines: readonly JournalLine[], attempt: number): boolean =>
  lines.some((line) => line.attempt === attempt && line.event === 'abort');

/** What was stored before an attempt began is what it starts from. */
function lostCheckpoints(lines: readonly JournalLine[]): string[] {
  return lines
    .filter(({ event }) => event === 'start')
    .flatMap((start) => {
      const stored = lines.filter(({ event, at }) => event === 'stored' && at < start.at);
      const last = Math.max(0, ...stored.map(({ step }) => step ?? 0));
      return (start.step ?? 0) >= last
        ? []
        : [`a checkpoint is never lost; attempt ${start.attempt} began at ${start.step}, not ${last}`];
    });
}

function indexProblems({ rows, index }: Evidence): BrokenPromise[] {
  // The shards of failures are not read.
  const unfinished = new Set(
    rows
      .filter(({ leaseUntil, leaseShard }) => leaseUntil !== undefined && !/^f/.test(String(leaseShard)))
      .map(({ jobId }) => String(jobId)),
  );
  const indexed = new Set(index.map(({ jobId }) => jobId));
  return [...new Set([...unfinished, ...indexed])]
    .filter((jobId) => unfinished.has(jobId) !== indexed.has(jobId))
    .map((jobId) => ({ jobId, promise: 'index and table agree' }));
}
