import { isFinished, type Job, type PastClaim } from '../protocol/job.ts';
import { viewOfJob } from './job-view.ts';
import type { JobDetail, JobView, Moment, MomentKind } from './protocol.ts';

const endings: Readonly<Record<PastClaim['outcome'], MomentKind>> = {
  done: 'done',
  retried: 'retried',
  failed: 'failed',
  released: 'released',
  cancelled: 'cancelled',
  lapsed: 'reclaimed',
};

/** Two tellings of one event, from the row and from the bus, are this close together. */
const SAME_EVENT_MS = 1_500;

/** Everything that is known of a job: its row, and what was seen to happen to it. */
export function detailOf(job: Job, now: number, seen: readonly Moment[], view?: JobView): JobDetail {
  const json = (value: unknown) => (value === undefined ? undefined : JSON.stringify(value));
  const optional = {
    startedAt: 'startedAt' in job ? job.startedAt : undefined,
    heartbeatAt: job.status === 'running' ? job.heartbeatAt : undefined,
    dispatches: job.status === 'pending' ? job.dispatches : undefined,
    checkpoint: json(job.checkpoint),
    progress: json(job.progress),
    result: job.status === 'done' ? json(job.result) : undefined,
    lastError: job.lastError,
  };
  return {
    job: viewOfJob(job, now, view),
    createdAt: job.createdAt,
    maxAttempts: job.maxAttempts,
    maxCrashes: job.maxCrashes,
    leaseMs: job.leaseMs,
    payload: job.status === 'failed' && job.rawMessage ? job.rawMessage.text : job.payload,
    claims: job.claims,
    timeline: timelineOf(job, seen),
    ...(Object.fromEntries(
      Object.entries(optional).filter(([, value]) => value !== undefined),
    ) as Partial<JobDetail>),
  };
}

/** The row's own story, with what was seen in between; oldest first. */
export function timelineOf(job: Job, seen: readonly Moment[]): Moment[] {
  const told: Moment[] = [{ at: job.createdAt, kind: 'created' }];
  for (const claim of job.claims) {
    told.push({ at: claim.from, kind: 'claimed', attempt: claim.attempt, by: claim.owner });
    told.push({ at: claim.to, kind: endings[claim.outcome], attempt: claim.attempt });
  }
  if (job.status === 'running')
    told.push({
      at: job.startedAt,
      kind: 'claimed',
      attempt: job.attempt,
      by: job.leaseOwner,
    });
  if (isFinished(job) && !told.some(({ at }) => at === job.finishedAt))
    told.push({
      at: job.finishedAt,
      kind: job.status,
      attempt: job.attempt,
      ...(job.lastError === undefined || job.status === 'cancelled' ? {} : { text: job.lastError }),
    });
  const merged = [...told];
  for (const moment of seen.map((each) => withAttempt(each, job))) {
    const twin = merged.findIndex(
      (each) =>
        each.kind === moment.kind &&
        each.attempt === moment.attempt &&
        moment.kind !== 'heartbeat' &&
        moment.kind !== 'checkpoint' &&
        moment.kind !== 'log' &&
        Math.abs(each.at - moment.at) < SAME_EVENT_MS,
    );
    if (twin === -1) merged.push(moment);
    // The row has the exact time, the onlooker the words.
    else merged[twin] = { ...moment, ...merged[twin] } as Moment;
  }
  return merged.map((moment) => beforeDeath(moment, merged)).sort(compareMoments);
}

/** An onlooker that did not know the attempt yet knew the time, which lies within one claim. */
function withAttempt(moment: Moment, job: Job): Moment {
  if (moment.attempt !== undefined && moment.attempt > 0) return moment;
  const claim = job.claims.find(({ from, to }) => moment.at >= from && moment.at <= to);
  const attempt = claim?.attempt ?? (job.status === 'running' ? job.attempt : undefined);
  return attempt === undefined ? moment : { ...moment, attempt };
}

/** A checkpoint is seen after it was stored: one that is seen after its worker died was stored before. */
function beforeDeath(moment: Moment, all: readonly Moment[]): Moment {
  if (moment.kind !== 'checkpoint') return moment;
  const death = all.find((each) => each.kind === 'killed' && each.attempt === moment.attempt);
  return death !== undefined && death.at <= moment.at ? { ...moment, at: death.at - 1 } : moment;
}

/** Within one millisecond: the claim before what happened under it, and how it ended last. */
const compareMoments = (a: Moment, b: Moment): number =>
  a.at - b.at || (a.attempt ?? 0) - (b.attempt ?? 0) || rankOf(a.kind) - rankOf(b.kind);

const ends: ReadonlySet<MomentKind> = new Set(Object.values(endings));
const rankOf = (kind: MomentKind): number => (kind === 'claimed' ? 0 : ends.has(kind) ? 2 : 1);
