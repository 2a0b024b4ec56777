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
  const span: Span = (start, end) => ({
    left: `${(Math.max(0, start - from) / (to - from)) * 100}%`,
    width: `${(Math.max(0, end - start) / (to - from)) * 100}%`,
  });
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
          <Lane key={lane.attempt} lane={lane} span={span} />
        ))}
      </ol>
    </section>
  );
}

type Span = (start: number, end: number) => { readonly left: string; readonly width: string };

function Lane({ lane, span }: { readonly lane: AttemptLane; readonly span: Span }) {
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
          <span class="lane-held" data-outcome={lane.outcome} style={span(lane.from, lane.aliveUntil)} />
          {lane.aliveUntil < lane.to && (
            <span
              class="lane-silence"
              style={span(lane.aliveUntil, lane.to)}
              title={`Silent for ${formatDuration(lane.to - lane.aliveUntil)}`}
            />
          )}
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

function lanesOf({ job, claims, startedAt, heartbeatAt }: JobDetail, now: number): AttemptLane[] {
  const ended = claims.map((claim): AttemptLane => {
    const { attempt, owner, from, to, cause } = claim;
    // A final failure by a crash names the crash in its cause.
    const hasCrashed = claim.outcome === 'failed' && isCrash(cause);
    return {
      attempt,
      owner,
      from,
      to,
      aliveUntil: to,
      outcome: hasCrashed ? 'crashed' : claim.outcome,
      isUncharged: isUncharged(cause) || claim.outcome === 'takenBack' || isFreeRelease(claim),
      cause: cause === LEASE_EXPIRED ? undefined : cause && causeOfCrash(cause),
    };
  });
  if (job.status !== 'running' || startedAt === undefined) return ended;
  const isSilent = (job.leaseUntil ?? 0) < now || isOwnerGone(job.leaseOwner);
  const current: AttemptLane = {
    attempt: job.attempt,
    owner: job.leaseOwner ?? '',
    from: startedAt,
    aliveUntil: isSilent ? (heartbeatAt ?? startedAt) : now,
    to: Math.max(now, startedAt),
    outcome: isSilent ? 'silent' : 'running',
  };
  return [...ended.filter((lane) => lane.attempt !== job.attempt), current];
}
