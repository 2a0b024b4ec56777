import { formatDuration } from '../../inspect/format-duration.ts';
import type { JobDetail } from '../page-messages.ts';
import { timeOfDay } from './format.ts';
import { ownerName } from './state.ts';

interface AttemptLane {
  readonly attempt: number;
  readonly owner: string;
  readonly from: number;
  /** When its holder was last heard of. */
  readonly aliveUntil: number;
  /** When the claim ended: for a lapsed one, when the reaper reclaimed the job. */
  readonly to: number;
  readonly outcome: string;
  readonly beats: readonly number[];
}

const MAX_LANES = 8;

/** The attempts as bars over one axis of time: who held the job, each heartbeat, and the silence after a death. */
export function Attempts({ detail, now }: { readonly detail: JobDetail; readonly now: number }) {
  const lanes = lanesOf(detail, now).slice(-MAX_LANES);
  const [first] = lanes;
  if (first === undefined) return null;
  const from = first.from;
  const to = Math.max(...lanes.map((lane) => lane.to), from + 1);
  const at = (time: number) => `${(Math.max(0, time - from) / (to - from)) * 100}%`;
  const span = (start: number, end: number) => ({
    left: at(start),
    width: `${(Math.max(0, end - start) / (to - from)) * 100}%`,
  });
  return (
    <figure class="attempts" aria-label={`${lanes.length} attempts over ${formatDuration(to - from)}`}>
      {lanes.map((lane) => (
        <div key={lane.attempt} class="lane">
          <span class="lane-name" title={lane.owner}>
            <b>{lane.attempt}</b> {ownerName(lane.owner)}
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
            {lane.beats.map((beat) => (
              <span
                key={beat}
                class="lane-beat"
                style={{ left: at(beat) }}
                title={`Heartbeat ${timeOfDay(beat)}`}
              />
            ))}
          </span>
          <span class="lane-outcome" data-outcome={lane.outcome}>
            {lane.outcome}
          </span>
        </div>
      ))}
      <figcaption>
        <span>{timeOfDay(from)}</span>
        <span>{formatDuration(to - from)}</span>
        <span>{timeOfDay(to)}</span>
      </figcaption>
    </figure>
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
    return {
      attempt: claim.attempt,
      owner: claim.owner,
      from: claim.from,
      aliveUntil: claim.outcome === 'lapsed' ? Math.min(lastSign, claim.to) : claim.to,
      to: claim.to,
      outcome: claim.outcome,
      beats,
    };
  });
  if (job.status !== 'running' || startedAt === undefined) return ended;
  const beats = beatsOf(job.attempt);
  const lastSign = diedAt(job.attempt) ?? Math.max(heartbeatAt ?? startedAt, beats.at(-1) ?? 0);
  const isSilent = diedAt(job.attempt) !== undefined || (job.leaseUntil ?? 0) < now;
  const current: AttemptLane = {
    attempt: job.attempt,
    owner: job.leaseOwner ?? '',
    from: startedAt,
    aliveUntil: isSilent ? lastSign : now,
    to: now,
    outcome: isSilent ? 'silent' : 'running',
    beats,
  };
  return [...ended.filter((lane) => lane.attempt !== job.attempt), current];
}
