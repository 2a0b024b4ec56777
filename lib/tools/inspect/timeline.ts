import { lapseLimit } from '../../protocol/decisions/decide-reap.ts';
import { isFinished, type Job, LEASE_EXPIRED, type OperatorAct, type PastClaim } from '../../protocol/job.ts';
import { lastBeatAt } from '../../settings/heartbeat-timing.ts';
import { defaultSettings } from '../../settings/settings.ts';
import { defined } from '../../wire/defined.ts';
import { endingKinds, type Moment, type MomentKind, sentences } from './moment.ts';

export interface TimelineEvent extends Moment {
  readonly message: string;
}

const event = (moment: Moment, message = sentences[moment.kind](moment)): TimelineEvent =>
  defined({ ...moment, message }) as TimelineEvent;

export function timelineOf(job: Job): TimelineEvent[] {
  const begun = new Map(job.claims.map(({ attempt, from }) => [attempt, from]));
  if (job.status === 'running') begun.set(job.attempt, job.startedAt);
  return [
    event({ at: job.createdAt, kind: 'created' }, creationOf(job)),
    ...job.claims.flatMap((claim) => ofClaim(claim, job, begun)),
    ...job.acts.flatMap(ofAct),
    ...ofRun(job),
    ...ofEnd(job),
  ].sort(compareEvents);
}

const creationOf = (job: Job): string =>
  job.status === 'failed' && job.rawMessage !== undefined
    ? 'a message arrived that cannot be run; it is kept here'
    : `first seen, with type '${job.type}'`;

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

/** Undefined if clock skew makes an attempt seem to begin before the previous one ended. */
const since = (ended: number, begun: number | undefined): number | undefined =>
  begun === undefined || begun < ended ? undefined : begun - ended;

/** Matches by time, because both were written at once. */
const takerOf = (job: Job, at: number): string | undefined =>
  job.acts.find((each) => each.act === 'takeBack' && each.at === at)?.by;

/** A take-back already shows as the end of its claim. */
function ofAct({ act, by, at }: OperatorAct): TimelineEvent[] {
  if (act === 'takeBack') return [];
  return [event({ at, kind: act === 'revive' ? 'revived' : 'cancelRequested', by })];
}

const causeOf = (outcome: PastClaim['outcome'], job: Job): string | undefined =>
  (outcome === 'retried' || outcome === 'failed' || outcome === 'lapsed') && job.lastError !== LEASE_EXPIRED
    ? job.lastError
    : undefined;

/** A newer version may write outcomes that this one does not know. */
function sentenceOf(ended: Moment, outcome: PastClaim['outcome'], last: Job | undefined): string {
  if (!Object.hasOwn(endingKinds, outcome)) return `ended (${outcome})`;
  if (outcome === 'failed' && last !== undefined && isQuarantined(last))
    return 'crashed; the job is quarantined';
  if (outcome !== 'lapsed' || last === undefined) return sentences[ended.kind](ended);
  if (last.status === 'failed') return `its lease lapsed; the reaper quarantined the job`;
  if (last.status === 'cancelled')
    return 'its lease lapsed; the reaper cancelled the job, as an operator had asked';
  return sentences.reclaimed(ended);
}

export const isQuarantined = (
  job: Pick<Job, 'crashes' | 'maxCrashes' | 'lapses' | 'maxAttempts'>,
): boolean => {
  const { maxCrashes = Number.POSITIVE_INFINITY, maxAttempts = Number.POSITIVE_INFINITY } = job;
  return job.crashes >= Math.min(maxCrashes, maxAttempts) || lostTooOften(job);
};

/** The row does not store the lapse limit, so this assumes the default. */
export const lostTooOften = (job: Pick<Job, 'lapses' | 'maxAttempts'>): boolean =>
  job.lapses >= lapseLimit(job, defaultSettings);

function ofRun(job: Job): TimelineEvent[] {
  if (job.status !== 'running') return [];
  const { attempt, startedAt, leaseOwner: by } = job;
  const beatAt = Math.max(job.heartbeatAt, lastBeatAt(job));
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

/** Within one millisecond: the claim, what happened under it, how it ended, then the job's end. */
const compareEvents = (a: TimelineEvent, b: TimelineEvent): number =>
  a.at - b.at || turnOf(a) - turnOf(b) || rankOf(a.kind) - rankOf(b.kind);

const turnOf = ({ kind, attempt = 0 }: TimelineEvent): number =>
  kind === 'finished' ? Number.MAX_SAFE_INTEGER : attempt;

const ends: ReadonlySet<MomentKind> = new Set(Object.values(endingKinds));
const rankOf = (kind: MomentKind): number =>
  kind === 'claimed' ? 0 : ends.has(kind) ? 2 : kind === 'fenced' ? 3 : 1;
