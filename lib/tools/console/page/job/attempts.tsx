import {
  type ClaimEnd,
  causeOfCrash,
  isCrash,
  isUncharged,
  LEASE_EXPIRED,
  type PastClaim,
} from '../../../../protocol/job.ts';
import { counted } from '../../../inspect/counted.ts';
import { formatDuration } from '../../../inspect/format-duration.ts';
import type { JobDetail } from '../../page-messages.ts';
import { timeOfDay } from '../format.ts';
import { isOwnerGone, ownerName } from '../state.ts';

interface AttemptLane {
  readonly attempt: number;
  readonly owner: string;
  readonly from: number;
  readonly aliveUntil: number;
  readonly to: number;
  readonly outcome: Outcome;
  readonly cause?: string;
  readonly beats: readonly number[];
  readonly isUncharged?: boolean;
}

/** A release at a deadline without a checkpoint is charged, and says so in its cause. */
const isFreeRelease = ({ outcome, cause }: PastClaim): boolean =>
  outcome === 'released' && cause === undefined;

type Outcome = ClaimEnd | 'running' | 'silent';

const words: Readonly<Record<Outcome, string>> = {
  done: 'done',
  retried: 'error',
  failed: 'error',
  released: 'released',
  takenBack: 'taken back',
  parked: 'parked',
  cancelled: 'cancelled',
  lapsed: 'worker lost',
  crashed: 'crashed',
  running: 'running',
  silent: 'silent',
};

const MAX_LANES = 8;

export function Attempts({ detail, now }: { readonly detail: JobDetail; readonly now: number }) {
  const all = lanesOf(detail, now);
  const lanes = all.slice(-MAX_LANES);
  const [first] = lanes;
  if (first === undefined) return null;
  const from = first.from;
  const to = Math.max(...lanes.map((lane) => lane.to), from + 1);
  const place: Placing = {
    at: (time) => `${(Math.max(0, time - from) / (to - from)) * 100}%`,
    span: (start, end) => ({
      left: `${(Math.max(0, start - from) / (to - from)) * 100}%`,
      width: `${(Math.max(0, end - start) / (to - from)) * 100}%`,
    }),
  };
  const hidden = detail.job.attempt - lanes.length;
  return (
    <section class="attempts" aria-labelledby="attempts-title">
      <h3 id="attempts-title">Attempts</h3>
      {hidden > 0 && <p class="muted">{counted(hidden, 'earlier attempt')} not shown</p>}
      <div class="lane lane-head" aria-hidden="true">
        <span>number and worker</span>
        <span class="lane-axis">
          <span>{timeOfDay(from)}</span>
          <span>{timeOfDay(to)}</span>
        </span>
        <span>ran</span>
        <span>ended</span>
      </div>
      <ol>
        {lanes.map((lane) => (
          <Lane key={lane.attempt} lane={lane} place={place} />
        ))}
      </ol>
    </section>
  );
}

interface Placing {
  readonly at: (time: number) => string;
  readonly span: (start: number, end: number) => { left: string; width: string };
}

function Lane({ lane, place }: { readonly lane: AttemptLane; readonly place: Placing }) {
  return (
    <li class="attempt" data-attempt={lane.attempt}>
      <div class="lane">
        <span class="lane-name" title={lane.owner}>
          <b>
            <span class="visually-hidden">Attempt </span>
            {lane.attempt}
          </b>{' '}
          {ownerName(lane.owner)}
        </span>
        <span class="lane-track">
          <span
            class="lane-held"
            data-outcome={lane.outcome}
            style={place.span(lane.from, lane.aliveUntil)}
          />
          {lane.aliveUntil < lane.to && (
            <span
              class="lane-silence"
              style={place.span(lane.aliveUntil, lane.to)}
              title={`Silent for ${formatDuration(lane.to - lane.aliveUntil)}`}
            />
          )}
          {lane.beats.map((beat) => (
            <span
              key={beat}
              class="lane-beat"
              style={{ left: place.at(beat) }}
              title={`Heartbeat ${timeOfDay(beat)}`}
            />
          ))}
        </span>
        <span class="lane-ran">{formatDuration(lane.to - lane.from)}</span>
        <span class="lane-outcome" data-outcome={lane.outcome}>
          {words[lane.outcome] ?? lane.outcome}
          {lane.isUncharged && <small>not charged</small>}
        </span>
      </div>
      {lane.cause !== undefined && <p class="lane-cause">{lane.cause}</p>}
    </li>
  );
}

function lanesOf({ job, claims, timeline, startedAt, heartbeatAt }: JobDetail, now: number): AttemptLane[] {
  const beatsOf = (attempt: number) =>
    timeline.filter((each) => each.kind === 'heartbeat' && each.attempt === attempt).map(({ at }) => at);
  const diedAt = (attempt: number) =>
    timeline.find((each) => each.kind === 'killed' && each.attempt === attempt)?.at;
  const ended = claims.map((claim): AttemptLane => {
    const beats = beatsOf(claim.attempt);
    const lastSign = diedAt(claim.attempt) ?? beats.at(-1) ?? claim.from;
    // A final failure by a crash names the crash in its cause.
    const hasCrashed = claim.outcome === 'failed' && isCrash(claim.cause);
    return {
      attempt: claim.attempt,
      owner: claim.owner,
      from: claim.from,
      aliveUntil: claim.outcome === 'lapsed' ? Math.min(lastSign, claim.to) : claim.to,
      to: claim.to,
      outcome: hasCrashed ? 'crashed' : claim.outcome,
      isUncharged: isUncharged(claim.cause) || claim.outcome === 'takenBack' || isFreeRelease(claim),
      cause: claim.cause === LEASE_EXPIRED ? undefined : claim.cause && causeOfCrash(claim.cause),
      beats,
    };
  });
  if (job.status !== 'running' || startedAt === undefined) return ended;
  const beats = beatsOf(job.attempt);
  const lastSign = diedAt(job.attempt) ?? Math.max(heartbeatAt ?? startedAt, beats.at(-1) ?? 0);
  const isSilent =
    diedAt(job.attempt) !== undefined || (job.leaseUntil ?? 0) < now || isOwnerGone(job.leaseOwner);
  const current: AttemptLane = {
    attempt: job.attempt,
    owner: job.leaseOwner ?? '',
    from: startedAt,
    aliveUntil: isSilent ? lastSign : now,
    to: Math.max(now, startedAt),
    outcome: isSilent ? 'silent' : 'running',
    beats,
  };
  return [...ended.filter((lane) => lane.attempt !== job.attempt), current];
}
