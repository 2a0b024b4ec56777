import { counted } from '../../../inspect/counted.ts';
import { type Filter, noFilter, setFilter } from '../address.ts';
import { state, useTopic } from '../state.ts';

export function EmptyList({ filter, unread }: { readonly filter: Filter; readonly unread: number }) {
  useTopic('figures');
  const { hello, figures } = state;
  const isNarrowed =
    filter.search.trim() !== '' ||
    [filter.type, filter.error, filter.since].some((each) => each !== undefined);
  if (figures?.readAt === undefined) return <p class="empty">Reading the table…</p>;
  if (isNarrowed) return <NoMatch filter={filter} unread={unread} />;
  if (filter.status === 'failed' && !figures.counts.failed.complete)
    return <p class="empty">No failed job so far; {readSoFar()}.</p>;
  const isFinished = filter.status === 'done' || filter.status === 'cancelled';
  if (isFinished && hello?.partial !== undefined) return <p class="empty">{hello.partial}.</p>;
  if (filter.status !== 'all') return <p class="empty">No job is {filter.status} now.</p>;
  return <NoJobs />;
}

const readSoFar = (): string => {
  const { counts, readUnits } = state.figures ?? {};
  const cost = readUnits === undefined ? '' : `, for ${counted(readUnits, 'read unit')} so far`;
  return `${counted(counts?.failed.count ?? 0, 'failure')} read, and more are being read${cost}`;
};

/** Never says "none" while something is unread. */
function NoMatch({ filter, unread }: { readonly filter: Filter; readonly unread: number }) {
  const { hello, figures } = state;
  const seesFailed = filter.status === 'failed' || filter.status === 'all';
  const seesFinished =
    filter.status !== 'failed' && filter.status !== 'pending' && filter.status !== 'running';
  const isReading = unread > 0 || (seesFailed && figures?.counts.failed.complete === false);
  return (
    <div class="empty" aria-live="polite">
      <p>{isReading ? 'No match so far.' : 'No job matches this filter.'}</p>
      {unread > 0 ? (
        <p>
          Reading the errors of {counted(unread, 'more failure')}, about a read unit each. The rest appears as
          it is read.
        </p>
      ) : (
        isReading && <p>{readSoFar()}.</p>
      )}
      {!isReading && seesFinished && hello?.partial !== undefined && <p>{hello.partial}.</p>}
      <button type="button" class="button" onClick={() => setFilter({ ...noFilter, status: filter.status })}>
        show all {filter.status === 'all' ? '' : `${filter.status} `}jobs
      </button>
    </div>
  );
}

/** Messages have no rows until a worker takes them. */
function NoJobs() {
  const { hello, figures } = state;
  const waiting = (figures?.queue?.visible ?? 0) + (figures?.queue?.delayed ?? 0);
  const nothing =
    hello?.partial === undefined ? 'There are no jobs yet.' : 'No job is waiting, running or failed.';
  return (
    <div class="empty">
      {waiting > 0 ? (
        <p>
          <b>{counted(waiting, 'message waits', 'messages wait')} in the queue</b>, and no worker has taken
          one. A job is listed here once a worker has taken its message.
        </p>
      ) : (
        <p>{nothing}</p>
      )}
      {waiting === 0 && hello?.partial !== undefined && <p>{hello.partial}.</p>}
      {waiting === 0 && hello?.send !== undefined && (
        <>
          <p>{hello.mode === 'local' ? 'Send one from another terminal:' : 'To send one:'}</p>
          <pre>{hello.send}</pre>
        </>
      )}
      {hello?.work !== undefined && (
        <>
          <p>This stack runs no workers (--workers 0). Start yours:</p>
          <pre>{hello.work}</pre>
        </>
      )}
    </div>
  );
}

export function Queued() {
  useTopic('figures');
  const { hello, figures } = state;
  if (figures?.queue === undefined)
    return <p class="empty">{hello?.noQueue ?? 'SQS did not report how many messages are in the queue'}.</p>;
  const { visible, delayed, inFlight } = figures.queue;
  return (
    <div class="empty queued">
      <p>
        <b>{counted(visible, 'message waits', 'messages wait')}</b> for a worker
        {delayed > 0 && `, ${counted(delayed, 'is delayed', 'are delayed')}`},{' '}
        {counted(inFlight, 'is', 'are')} being worked on.
      </p>
      <p>
        SQS counts them approximately. A job has no row, and is not listed here, before a worker takes its
        message. Hints of pending jobs are counted as well.
      </p>
    </div>
  );
}
