import type { Job } from '../../protocol/job.ts';
import type { Settings } from '../../settings/settings.ts';
import { lastEnding } from '../inspect/last-ending.ts';
import { nextSteps } from '../inspect/next-steps.ts';
import type { Wait } from '../inspect/parked.ts';
import { timelineOf } from '../inspect/timeline.ts';
import { whyFailed } from '../inspect/why-failed.ts';
import { summaryOfJob } from './job-summary.ts';
import type { JobDetail, JobSummary } from './page-messages.ts';

function olderErrorOf(job: Job): number | undefined {
  const ending = lastEnding(job);
  return ending === undefined || ending.errorOf === ending.attempt ? undefined : ending.errorOf;
}

const json = (value: unknown) => (value === undefined ? undefined : JSON.stringify(value));

export const detailOf = (
  job: Job,
  now: number,
  settings: Settings,
  summary?: JobSummary,
  wait?: Wait,
): JobDetail => ({
  job: summaryOfJob(job, now, summary),
  createdAt: job.createdAt,
  startedAt: 'startedAt' in job ? job.startedAt : undefined,
  heartbeatAt: job.status === 'running' ? job.heartbeatAt : undefined,
  maxAttempts: job.maxAttempts,
  maxCrashes: job.maxCrashes,
  leaseMs: job.leaseMs,
  payload: job.status === 'failed' && job.rawMessage ? job.rawMessage.text : job.payload,
  checkpoint: json(job.checkpoint),
  progress: json(job.progress),
  result: job.status === 'done' ? json(job.result) : undefined,
  lastError: job.lastError,
  errorOf: olderErrorOf(job),
  failure: whyFailed(job),
  claims: job.claims,
  timeline: timelineOf(job),
  next: nextSteps(job, now, settings, wait),
});
