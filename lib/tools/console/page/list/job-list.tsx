import { useMemo, useState } from 'preact/hooks';
import { counted } from '../../../inspect/counted.ts';
import { matches } from '../../job-filter.ts';
import type { JobSummary } from '../../page-messages.ts';
import { type Filter, type StatusFilter, setFilter, statusFilters } from '../address.ts';
import { figure } from '../format.ts';
import { SearchIcon } from '../icons.tsx';
import { state, useNow, useTopic } from '../state.ts';
import { BulkBar } from './bulk.tsx';
import { EmptyList, Queued } from './empty-list.tsx';
import { Filters } from './filters.tsx';
import { orderJobs } from './job-order.ts';
import { JobRows } from './job-rows.tsx';
import { useRows } from './read-rows.ts';

/** Often enough to look alive; ordering ten thousand jobs takes a while. */
const ORDER_EVERY_MS = 250;

function useSelection(jobs: readonly JobSummary[]) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const selected = jobs.filter(({ jobId }) => chosen.has(jobId));
  return { selected, chosen, setChosen };
}

function useUnread(filter: Filter): readonly string[] {
  const now = useNow(1_000);
  const needsErrors = filter.error !== undefined || filter.search.trim() !== '';
  const unread = useMemo(
    () =>
      needsErrors ? [...state.jobs.values()].filter((job) => matches(job, filter, now) === 'unread') : [],
    [now, filter],
  ).map(({ jobId }) => jobId);
  useRows(unread);
  return unread;
}

export function JobListView({ filter }: { readonly filter: Filter }) {
  const now = useNow(ORDER_EVERY_MS);
  const jobs = useMemo(() => orderJobs(state.jobs.values(), filter, now), [now, filter]);
  const { selected, chosen, setChosen } = useSelection(jobs);
  const unread = useUnread(filter).length;
  return (
    <section class="panel jobs" aria-label="Jobs">
      <div class="bar">
        <div class="tabs" role="toolbar" aria-label="Show jobs by state">
          {statusFilters.map((status) => (
            <Tab
              key={status}
              status={status}
              isChosen={filter.status === status}
              onChoose={() => setFilter({ ...filter, status })}
            />
          ))}
        </div>
        <label class="search">
          <SearchIcon />
          <span class="visually-hidden">Search by id, type, worker or error</span>
          <input
            type="search"
            placeholder="Search"
            value={filter.search}
            onInput={(event) => setFilter({ ...filter, search: event.currentTarget.value })}
          />
        </label>
        <Filters filter={filter} />
      </div>
      {filter.status === 'queued' ? (
        <Queued />
      ) : jobs.length === 0 ? (
        <EmptyList filter={filter} unread={unread} />
      ) : (
        <JobRows jobs={jobs} now={now} filter={filter} chosen={chosen} onChoose={setChosen} />
      )}
      {selected.length === 0 && <Foot filter={filter} shown={jobs.length} unread={unread} />}
      <BulkBar
        selected={selected}
        filter={filter}
        isAll={selected.length === jobs.length}
        onDone={() => setChosen(new Set())}
      />
    </section>
  );
}

function Foot(props: { readonly filter: Filter; readonly shown: number; readonly unread: number }) {
  useTopic('figures');
  const { filter, shown, unread } = props;
  const { hello, figures } = state;
  if (filter.status === 'queued') return null;
  const seesFailed = filter.status === 'failed' || filter.status === 'all';
  const seesDone = filter.status === 'all' || filter.status === 'done' || filter.status === 'cancelled';
  const failures =
    filter.type === undefined ? figures?.counts.failed.count : figures?.failedByType[filter.type];
  const listed = [...state.jobs.values()].filter(
    ({ status, type }) => status === 'failed' && (filter.type ?? type) === type,
  ).length;
  const notes = [
    counted(shown, 'job'),
    ...(unread > 0 ? [`reading the errors of ${counted(unread, 'more failure')}`] : []),
    ...(seesFailed && figures?.counts.failed.complete === false
      ? ['older failures are being read']
      : seesFailed && (failures ?? 0) > listed
        ? [`${listed.toLocaleString('en-US')} of ${counted(failures ?? 0, 'failure')} are listed`]
        : []),
    ...(seesDone && hello?.partial !== undefined ? [hello.partial] : []),
    ...(figures?.readUnits === undefined ? [] : [`${counted(figures.readUnits, 'read unit')} so far`]),
  ];
  return (
    <footer class="list-foot">
      {notes.map((note, i) => (
        <span key={i}>
          {i > 0 && ' · '}
          <span>{note}</span>
        </span>
      ))}
    </footer>
  );
}

function Tab(props: {
  readonly status: StatusFilter;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}) {
  useTopic('figures');
  const { status } = props;
  const { count, reason } = countOf(status);
  return (
    <button type="button" class="tab" aria-pressed={props.isChosen} onClick={props.onChoose} title={reason}>
      {status !== 'all' && <i class="dot" data-status={status} />}
      {status} <b>{count}</b>
    </button>
  );
}

function countOf(status: StatusFilter): { readonly count: string; readonly reason?: string } {
  const { hello, figures } = state;
  if (figures === undefined) return { count: '–', reason: 'Nothing has been read yet' };
  if (status === 'queued') {
    const { queue } = figures;
    if (queue === undefined)
      return { count: '–', reason: hello?.noQueue ?? 'SQS did not answer; see the terminal' };
    const reason = 'Messages in the queue, including delayed ones; SQS counts approximately';
    return { count: (queue.visible + queue.delayed).toLocaleString('en-US'), reason };
  }
  if (status === 'all') {
    const counts = Object.values(figures.counts);
    const count = counts.reduce((sum, each) => sum + each.count, 0);
    return { count: figure({ count, complete: counts.every(({ complete }) => complete) }) };
  }
  const given = figures.counts[status];
  const isFinished = status === 'done' || status === 'cancelled';
  return { count: figure(given), reason: given.complete ? undefined : whyNotWhole(isFinished) };
}

const whyNotWhole = (isFinished: boolean): string =>
  isFinished && state.hello?.partial !== undefined
    ? state.hello.partial
    : 'There may be more: not everything has been read yet';
