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
  retried: 'The handler threw; the job will run again',
  released: 'Released by its worker',
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
  /** For a run of quiet moments: how many of each kind, and when the last one was. */
  readonly counts: { readonly heartbeat: number; readonly checkpoint: number };
  readonly lastAt: number;
}

const isQuiet = (moment: Moment): moment is Moment & { readonly kind: 'heartbeat' | 'checkpoint' } =>
  moment.kind === 'heartbeat' || moment.kind === 'checkpoint';

/** Runs of heartbeats and checkpoints become one entry: they are the quiet part of the story. */
function gather(moments: readonly Moment[]): Entry[] {
  const entries: Entry[] = [];
  for (const moment of moments) {
    const counts = { heartbeat: 0, checkpoint: 0 };
    const before = entries.at(-1);
    if (isQuiet(moment)) counts[moment.kind] += 1;
    if (isQuiet(moment) && before && isQuiet(before.moment) && before.moment.attempt === moment.attempt) {
      counts.heartbeat += before.counts.heartbeat;
      counts.checkpoint += before.counts.checkpoint;
      entries[entries.length - 1] = { ...before, counts, lastAt: moment.at };
    } else entries.push({ moment, counts, lastAt: moment.at });
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
        {entries.map(({ moment, counts, lastAt }) => (
          <li key={`${moment.kind}-${moment.attempt}-${moment.at}-${moment.text}`} data-kind={moment.kind}>
            <time dateTime={new Date(moment.at).toISOString()} title={timeOfDay(moment.at)}>
              +{duration(moment.at - start)}
            </time>
            <span class="moment">
              <span class="moment-what" data-kind={moment.kind}>
                {titleOf(moment, counts)}
              </span>
              {lastAt > moment.at && <span class="muted"> over {duration(lastAt - moment.at)}</span>}
              {moment.by !== undefined && moment.kind === 'claimed' && (
                <span class="muted">
                  {' '}
                  by <code>{moment.by}</code>
                </span>
              )}
              {moment.text !== undefined && (
                <span class="moment-text" data-kind={moment.kind}>
                  {moment.text}
                </span>
              )}
            </span>
            {moment.attempt !== undefined && <span class="badge">attempt {moment.attempt}</span>}
          </li>
        ))}
      </ol>
    </section>
  );
}

function titleOf(moment: Moment, counts: Entry['counts']): string {
  if (isQuiet(moment) && counts.heartbeat + counts.checkpoint > 1)
    return (['heartbeat', 'checkpoint'] as const)
      .filter((kind) => counts[kind] > 0)
      .map((kind) => plural(counts[kind], kind))
      .join(', ');
  return moment.kind === 'log' ? (moment.text ?? '') : words[moment.kind];
}
