import type { Moment, MomentKind } from '../protocol.ts';
import { duration, plural, timeOfDay } from './format.ts';

const words: Readonly<Record<MomentKind, string>> = {
  created: 'Its row was written',
  claimed: 'Claimed',
  heartbeat: 'Heartbeat',
  checkpoint: 'Checkpoint kept',
  killed: 'Its worker was killed',
  paused: 'Its worker was paused',
  resumed: 'Its worker was resumed',
  lapsed: 'The lease lapsed',
  reclaimed: 'Reclaimed by the reaper',
  fenced: 'A write of a stale claim was refused',
  retried: 'The handler failed; handed back',
  released: 'Handed back on purpose',
  cancelRequested: 'Cancellation requested',
  done: 'Done',
  failed: 'Failed',
  quarantined: 'Quarantined',
  cancelled: 'Cancelled',
  revived: 'Revived by an operator',
  log: 'Log',
};

interface Entry {
  readonly moment: Moment;
  /** For a run of heartbeats: how many, and when the last one was. */
  readonly count: number;
  readonly lastAt: number;
}

/** Runs of heartbeats, or of checkpoints, become one entry: they are the quiet part of the story. */
function gather(moments: readonly Moment[]): Entry[] {
  const entries: Entry[] = [];
  for (const moment of moments) {
    const before = entries.at(-1);
    const joins =
      before !== undefined &&
      (moment.kind === 'heartbeat' || moment.kind === 'checkpoint') &&
      before.moment.kind === moment.kind &&
      before.moment.attempt === moment.attempt;
    if (joins) entries[entries.length - 1] = { ...before, count: before.count + 1, lastAt: moment.at };
    else entries.push({ moment, count: 1, lastAt: moment.at });
  }
  return entries;
}

/** What happened to a job, oldest first. */
export function Timeline({ moments }: { readonly moments: readonly Moment[] }) {
  const entries = gather(moments);
  const start = moments[0]?.at ?? 0;
  return (
    <section class="timeline" aria-labelledby="timeline-title">
      <h3 id="timeline-title">Timeline</h3>
      <ol>
        {entries.map(({ moment, count, lastAt }) => (
          <li key={`${moment.kind}-${moment.attempt}-${moment.at}-${moment.text}`} data-kind={moment.kind}>
            <time dateTime={new Date(moment.at).toISOString()} title={timeOfDay(moment.at)}>
              +{duration(moment.at - start)}
            </time>
            <span class="moment">
              <span class="moment-what">{titleOf(moment, count)}</span>
              {count > 1 && <span class="muted"> over {duration(lastAt - moment.at)}</span>}
              {moment.by !== undefined && moment.kind === 'claimed' && (
                <span class="muted">
                  {' '}
                  by <code>{moment.by}</code>
                </span>
              )}
              {moment.text !== undefined && <span class="moment-text">{moment.text}</span>}
            </span>
            {moment.attempt !== undefined && <span class="badge">attempt {moment.attempt}</span>}
          </li>
        ))}
      </ol>
    </section>
  );
}

function titleOf(moment: Moment, count: number): string {
  if (count > 1) return plural(count, moment.kind);
  return moment.kind === 'log' ? (moment.text ?? '') : words[moment.kind];
}
