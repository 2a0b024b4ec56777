import { counted } from '../../../inspect/counted.ts';
import { formatDuration } from '../../../inspect/format-duration.ts';
import type { TimelineEvent } from '../../../inspect/timeline.ts';
import { timeOfDay } from '../format.ts';

interface TimelineEntry {
  readonly event: TimelineEvent;
  readonly counts: { readonly heartbeat: number; readonly checkpoint: number };
  readonly lastAt: number;
}

const isQuiet = (
  event: TimelineEvent,
): event is TimelineEvent & { readonly kind: 'heartbeat' | 'checkpoint' } =>
  event.kind === 'heartbeat' || event.kind === 'checkpoint';

function gather(events: readonly TimelineEvent[]): TimelineEntry[] {
  const entries: TimelineEntry[] = [];
  for (const event of events) {
    const counts = { heartbeat: 0, checkpoint: 0 };
    const before = entries.at(-1);
    if (isQuiet(event)) counts[event.kind] += 1;
    if (isQuiet(event) && before && isQuiet(before.event) && before.event.attempt === event.attempt) {
      counts.heartbeat += before.counts.heartbeat;
      counts.checkpoint += before.counts.checkpoint;
      entries[entries.length - 1] = { ...before, counts, lastAt: event.at };
    } else entries.push({ event, counts, lastAt: event.at });
  }
  return entries;
}

export function Timeline({ events }: { readonly events: readonly TimelineEvent[] }) {
  const start = events[0]?.at ?? 0;
  return (
    <section class="timeline" aria-labelledby="timeline-title">
      <h3 id="timeline-title">Timeline</h3>
      <ol>
        {gather(events).map((entry) => (
          <EntryItem key={keyOf(entry)} entry={entry} start={start} />
        ))}
      </ol>
    </section>
  );
}

const keyOf = ({ event }: TimelineEntry): string =>
  `${event.kind}-${event.attempt}-${event.at}-${event.text}`;

function EntryItem({ entry, start }: { readonly entry: TimelineEntry; readonly start: number }) {
  const { event, lastAt } = entry;
  const { at, kind, attempt } = event;
  const text = kind === 'log' ? undefined : event.text;
  const look = kind === 'finished' ? event.message : kind;
  return (
    <li data-kind={look}>
      <time dateTime={new Date(at).toISOString()} title={timeOfDay(at)}>
        +{formatDuration(at - start)}
      </time>
      <span class="moment">
        <span class="moment-what" data-kind={kind}>
          {titleOf(entry)}
        </span>
        {lastAt > at && <span class="muted"> over {formatDuration(lastAt - at)}</span>}
        {text !== undefined && <span class="moment-text">{text}</span>}
      </span>
      {attempt !== undefined && <span class="badge">attempt {attempt}</span>}
    </li>
  );
}

function titleOf({ event, counts }: TimelineEntry): string {
  if (isQuiet(event) && counts.heartbeat + counts.checkpoint > 1)
    return (['heartbeat', 'checkpoint'] as const)
      .filter((kind) => counts[kind] > 0)
      .map((kind) => counted(counts[kind], kind))
      .join(', ');
  return event.kind === 'log' ? (event.text ?? '') : event.message;
}
