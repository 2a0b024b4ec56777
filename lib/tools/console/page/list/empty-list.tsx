import { counted } from '../../../inspect/counted.ts';
import { type Filter, noFilter, setFilter } from '../address.ts';
import { state, useTopic } from '../state.ts';

export function EmptyList({ filter }: { readonly filter: Filter }) {
  useTopic('figures');
  const { hello, figures } = state;
  const isNarrowed =
    filter.search.trim() !== '' ||
    [filter.type, filter.error, filter.since].some((each) => each !== undefined);
  if (figures?.readAt === undefined) return <p class="empty">Reading the table…</p>;
  if (isNarrowed)
    return (
      <div class="empty">
        <p>No job matches this filter.</p>
        <button
          type="button"
          class="button"
          onClick={() => setFilter({ ...noFilter, status: filter.status })}
        >
          show all {filter.status === 'all' ? '' : `${filter.status} `}jobs
        </button>
      </div>
    );
  const isFinished = filter.status === 'done' || filter.status === 'cancelled';
  if (isFinished && hello?.partial !== undefined) return <p class="empty">{hello.partial}.</p>;
  if (filter.status !== 'all') return <p class="empty">No job is {filter.status} now.</p>;
  return (
    <div class="empty">
      <p>There are no jobs yet.</p>
      <p>
        {hello?.mode === 'local' ? 'Send one from another terminal:' : 'Producers send them to the queue:'}
      </p>
      <pre>
        {hello?.mode === 'local'
          ? `npx leasehold send count-primes '{"below": 5000000}'`
          : `npx leasehold send TYPE '{}' --table ${hello?.tableName ?? 'TABLE'} --queue-url URL`}
      </pre>
    </div>
  );
}

/** Queued jobs have no row until a worker claims them, so only their number is known. */
export function Queued() {
  useTopic('figures');
  const { hello, figures } = state;
  if (figures?.queue === undefined)
    return <p class="empty">{hello?.noQueue ?? 'SQS did not tell how much is in the queue'}.</p>;
  const { visible, delayed, inFlight } = figures.queue;
  return (
    <div class="empty queued">
      <p>
        <b>{counted(visible, 'message waits', 'messages wait')}</b> for a worker
        {delayed > 0 && `, ${counted(delayed, 'is delayed', 'are delayed')}`}, {inFlight} in the hands of
        workers.
      </p>
      <p>
        SQS counts them approximately. A job has no row, and is not listed here, before a worker takes its
        message. Hints of pending jobs are counted as well.
      </p>
      {visible > 0 && figures.counts.running.count === 0 && (
        <p>Nothing is running: is there a worker? Its logs, or 'leasehold doctor', tell.</p>
      )}
    </div>
  );
}
