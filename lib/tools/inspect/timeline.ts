import { isFinished, type Job, LEASE_EXPIRED, type OperatorAct, type PastClaim } from '../../protocol/job.ts';
import { lastBeatAt } from '../../settings/lease-length.ts';
import type { Settings } from '../../settings/settings.ts';
import { defined } from '../../wire/defined.ts';
import { endingKinds, type Moment, type MomentKind, sentences } from './moment.ts';

/** A moment with the sentence that tells it. Its text, if any, comes after. */
export interface TimelineEvent extends Moment {
  readonly says: string;
}

/** Two accounts of one event, from the row and from the bus, are this close together. */
const SAME_EVENT_MS = 1_500;

/** The life of a job, oldest first: what its row remembers, and what was seen in between. */
export function timelineOf(
  job: Job,
  settings: Pick<Settings, 'leaseGrowth' | 'leaseGrowthCapMs'>,
  seen: readonly Moment[] = [],
): TimelineEvent[] {
  const told = toldByRow(job, settings);
  const events = seen.reduce((merged, moment) => merge(merged, withAttempt(moment, job), told), told);
  return events.map((event) => beforeDeath(event, events)).sort(compareEvents);
}

const event = (moment: Moment, says = sentences[moment.kind](moment)): TimelineEvent =>
  defined({ ...moment, says }) as TimelineEvent;

function toldByRow(job: Job, growth: Pick<Settings, 'leaseGrowth' | 'leaseGrowthCapMs'>): TimelineEvent[] {
  const begun = new Map(job.claims.map(({ attempt, from }) => [attempt, from]));
  if (job.status === 'running') begun.set(job.attempt, job.startedAt);
  return [
    event({ at: job.createdAt, kind: 'created' }, creationOf(job)),
    ...job.claims.flatMap((claim) => ofClaim(claim, job, begun)),
    ...job.acts.flatMap(ofAct),
    ...ofRun(job, growth),
    ...ofEnd(job),
  ];
}

const creationOf = (job: Job): string =>
  job.status === 'failed' && job.rawMessage !== undefined
    ? 'a message arrived that cannot be run; it is kept here'
    : `first seen as a '${job.type}' job`;

/** `begun`: when each attempt that the row remembers began. */
function ofClaim(claim: PastClaim, job: Job, begun: ReadonlyMap<number, number>): TimelineEvent[] {
  const { attempt, owner: by, from, to, outcome } = claim;
  const isLast = claim === job.claims.at(-1) && job.status !== 'running';
  const ended: Moment = {
    at: to,
    kind: endingKinds[outcome] ?? 'released',
    attempt,
    by: outcome === 'takenBack' ? takerOf(job, to) : undefined,
    text: (isLast ? causeOf(outcome, job) : undefined) ?? claim.cause,
    ranAgainMs: outcome === 'crashed' || outcome === 'lapsed' ? since(to, begun.get(attempt + 1)) : undefined,
  };
  return [
    event({ at: from, kind: 'claimed', attempt, by }),
    event(ended, sentenceOf(ended, outcome, isLast ? job : undefined)),
    ...(outcome === 'lapsed' ? [event({ at: to, kind: 'fenced', attempt, by })] : []),
  ];
}

/** Clocks may disagree: nothing is told of an attempt that seems to have begun before the one before it ended. */
const since = (ended: number, begun: number | undefined): number | undefined =>
  begun === undefined || begun < ended ? undefined : begun - ended;

/** Who took it back, as far as the row remembers: both were written at once. */
const takerOf = (job: Job, at: number): string | undefined =>
  job.acts.find((each) => each.act === 'takeBack' && each.at === at)?.by;

/** A job that was taken back has that in the end of its claim. */
function ofAct({ act, by, at }: OperatorAct): TimelineEvent[] {
  if (act === 'takeBack') return [];
  return [event({ at, kind: act === 'revive' ? 'revived' : 'cancelRequested', by })];
}

/** That a lease expired says no more than the lapse itself. */
const causeOf = (outcome: PastClaim['outcome'], job: Job): string | undefined =>
  (outcome === 'retried' || outcome === 'failed' || outcome === 'lapsed') && job.lastError !== LEASE_EXPIRED
    ? job.lastError
    : undefined;

/** A later version may know outcomes that this one does not. */
function sentenceOf(ended: Moment, outcome: PastClaim['outcome'], last: Job | undefined): string {
  if (!Object.hasOwn(endingKinds, outcome)) return `ended (${outcome})`;
  if (outcome === 'failed' && last !== undefined && isQuarantined(last))
    return 'crashed; the job is quarantined';
  if (outcome !== 'lapsed' || last === undefined) return sentences[ended.kind](ended);
  if (last.status === 'failed')
    return `its lease lapsed; the reaper ${isQuarantined(last) ? 'quarantined' : 'failed'} the job`;
  if (last.status === 'cancelled')
    return 'its lease lapsed; the reaper cancelled the job, as an operator had asked';
  return sentences.reclaimed(ended);
}

/** Whether a failed job failed because it kept crashing. */
export const isQuarantined = (job: Pick<Job, 'crashes' | 'maxCrashes'>): boolean =>
  job.crashes >= job.maxCrashes;

function ofRun(job: Job, growth: Pick<Settings, 'leaseGrowth' | 'leaseGrowthCapMs'>): TimelineEvent[] {
  if (job.status !== 'running') return [];
  const { attempt, startedAt, leaseOwner: by } = job;
  const beatAt = Math.max(job.heartbeatAt, lastBeatAt(job, growth));
  return [
    event({ at: startedAt, kind: 'claimed', attempt, by }),
    ...(beatAt > startedAt
      ? [event({ at: beatAt, kind: 'heartbeat', attempt, by }, `last heartbeat of ${by}`)]
      : []),
  ];
}

const ofEnd = (job: Job): TimelineEvent[] =>
  isFinished(job)
    ? [
        event(
          {
            at: job.finishedAt,
            kind: 'finished',
            text: job.status === 'failed' ? job.lastError : undefined,
          },
          job.status,
        ),
      ]
    : [];

/** Of two accounts of one event the row has the exact time, the onlooker more words. */
function merge(
  merged: readonly TimelineEvent[],
  moment: Moment,
  told: readonly TimelineEvent[],
): TimelineEvent[] {
  // Two heartbeats that were seen are two; only the one in the row may be one of those that were seen.
  const isTwin = (each: TimelineEvent) =>
    isSameEvent(each, moment) && (!isRepeated(moment.kind) || told.includes(each));
  const twin = merged.findIndex(isTwin);
  return twin === -1
    ? [...merged, event(moment)]
    : merged.with(twin, { ...moment, ...(merged[twin] as TimelineEvent) });
}

const isSameEvent = (a: Moment, b: Moment): boolean =>
  a.kind === b.kind && a.attempt === b.attempt && Math.abs(a.at - b.at) < SAME_EVENT_MS;

/** What may really happen twice in a short time. */
const isRepeated = (kind: MomentKind): boolean =>
  kind === 'heartbeat' || kind === 'checkpoint' || kind === 'log';

/** An onlooker that did not know the attempt yet knew the time, which lies within one claim. */
function withAttempt(moment: Moment, job: Job): Moment {
  if (moment.attempt !== undefined && moment.attempt > 0) return moment;
  const claim = job.claims.find(({ from, to }) => moment.at >= from && moment.at <= to);
  const isOfRun = job.status === 'running' && moment.at >= job.startedAt;
  const attempt = isOfRun ? job.attempt : claim?.attempt;
  return attempt === undefined ? moment : { ...moment, attempt };
}

/** A checkpoint is seen after it was stored: one that is seen after its worker died was stored before. */
function beforeDeath(moment: TimelineEvent, all: readonly TimelineEvent[]): TimelineEvent {
  if (moment.kind !== 'checkpoint') return moment;
  const death = all.find((each) => each.kind === 'killed' && each.attempt === moment.attempt);
  return death !== undefined && death.at <= moment.at ? { ...moment, at: death.at - 1 } : moment;
}

/** Within one millisecond: the claim before what happened under it, how it ended after that, the job's end last. */
const compareEvents = (a: TimelineEvent, b: TimelineEvent): number =>
  a.at - b.at || turnOf(a) - turnOf(b) || rankOf(a.kind) - rankOf(b.kind);

const turnOf = ({ kind, attempt = 0 }: TimelineEvent): number =>
  kind === 'finished' ? Number.MAX_SAFE_INTEGER : attempt;

const ends: ReadonlySet<MomentKind> = new Set(Object.values(endingKinds));
const rankOf = (kind: MomentKind): number =>
  kind === 'claimed' ? 0 : ends.has(kind) ? 2 : kind === 'fenced' ? 3 : 1;
