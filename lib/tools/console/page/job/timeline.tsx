import { formatDuration } from '../../../inspect/format-duration.ts';
import type { TimelineEvent } from '../../../inspect/timeline.ts';
import { timeOfDay } from '../format.ts';

export function Timeline({ events }: { readonly events: readonly TimelineEvent[] }) {
  const start = events[0]?.at ?? 0;
  return (
    <section class="timeline" aria-labelledby="timeline-title">
      <h3 id="timeline-title">Timeline</h3>
      <ol>
        {events.map((event) => (
          <EventItem key={`${event.kind}-${event.attempt}-${event.at}`} event={event} start={start} />
        ))}
      </ol>
    </section>
  );
}

function EventItem({ event, start }: { readonly event: TimelineEvent; readonly start: number }) {
  const { at, kind, attempt, message, text } = event;
  return (
    <li data-kind={kind === 'finished' ? message : kind}>
      <time dateTime={new Date(at).toISOString()} title={timeOfDay(at)}>
        +{formatDuration(at - start)}
      </time>
      <span class="moment">
        <span class="moment-what" data-kind={kind}>
          {message}
        </span>
        {text !== undefined && <span class="moment-text">{text}</span>}
      </span>
      {attempt !== undefined && <span class="badge">attempt {attempt}</span>}
    </li>
  );
}
