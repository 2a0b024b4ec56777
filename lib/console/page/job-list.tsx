import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../../inspect/counted.ts';
import type { JobSummary } from '../page-messages.ts';
import { openJob } from './app.tsx';
import { SearchIcon } from './icons.tsx';
import { type Filter, orderJobs, reorderJobs, type StatusFilter } from './job-order.ts';
import { JobRow } from './job-row.tsx';
import { listen, state, useNow, useTopic } from './state.ts';

/** Rows drawn above and below what is seen, so that scrolling meets no gaps. */
const OVERSCAN = 6;

/** The jobs in order, kept up to date without sorting anew for every change. */
function useOrderedJobs(filter: Filter): readonly JobSummary[] {
  const [list, setList] = useState<readonly JobSummary[]>(() => orderJobs(state.jobs.values(), filter));
  useEffect(() => {
    setList(orderJobs(state.jobs.values(), filter));
    return listen('jobs', (changed) =>
      setList((before) =>
        changed.size === 0
          ? orderJobs(state.jobs.values(), filter)
          : reorderJobs(before, changed, state.jobs, filter),
      ),
    );
  }, [filter]);
  return list;
}

/** The part of a long list that is on the screen. */
function useWindow(rows: number, rowHeight: number) {
  const ref = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const measure = () => setSeen({ top: element.scrollTop, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, []);
  const from = Math.max(0, Math.floor(seen.top / rowHeight) - OVERSCAN);
  const to = Math.min(rows, Math.ceil((seen.top + seen.height) / rowHeight) + OVERSCAN);
  return { ref, from, to };
}

const rowHeightNow = () => (matchMedia('(max-width: 640px)').matches ? 68 : 52);

export function JobListView(props: {
  readonly filter: Filter;
  readonly filters: readonly StatusFilter[];
  readonly onFilter: (filter: Filter) => void;
  readonly searchRef: RefObject<HTMLInputElement | null>;
}) {
  const { filter, filters, onFilter, searchRef } = props;
  const jobs = useOrderedJobs(filter);
  return (
    <section class="panel jobs" aria-label="Jobs">
      <div class="bar">
        <div class="tabs" role="toolbar" aria-label="Show jobs by status">
          {filters.map((status) => (
            <Tab
              key={status}
              status={status}
              isChosen={filter.status === status}
              onChoose={() => onFilter({ ...filter, status })}
            />
          ))}
        </div>
        <label class="search">
          <SearchIcon />
          <span class="visually-hidden">Search by id, type, worker or error</span>
          <input
            ref={searchRef}
            type="search"
            placeholder="Search   /"
            value={filter.search}
            onInput={(event) => onFilter({ ...filter, search: event.currentTarget.value.trim() })}
          />
        </label>
      </div>
      <Rows jobs={jobs} />
      <footer class="list-foot">
        {counted(jobs.length, 'job')}
        {state.hello?.partial !== undefined && <span> · {state.hello.partial}</span>}
      </footer>
    </section>
  );
}

function Tab(props: {
  readonly status: StatusFilter;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}) {
  useTopic('jobs');
  const count = props.status === 'all' ? state.jobs.size : state.counts[props.status];
  return (
    <button type="button" class="tab" aria-pressed={props.isChosen} onClick={props.onChoose}>
      {props.status !== 'all' && <i class="dot" data-status={props.status} />}
      {props.status} <b>{count.toLocaleString()}</b>
    </button>
  );
}

/** The height of a row, which depends on the width of the page. */
function useRowHeight(): number {
  const [rowHeight, setRowHeight] = useState(rowHeightNow);
  useEffect(() => {
    const measure = () => setRowHeight(rowHeightNow());
    addEventListener('resize', measure);
    return () => removeEventListener('resize', measure);
  }, []);
  return rowHeight;
}

/** Scrolls just so far that the row at this place is seen. */
function scrollTo(element: HTMLElement | null, at: number, rowHeight: number): void {
  if (element === null) return;
  const top = at * rowHeight;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (top + rowHeight > element.scrollTop + element.clientHeight)
    element.scrollTop = top + rowHeight - element.clientHeight;
}

/** Where a key leads from this place in the list; undefined for keys that do not move. */
function placeAfter(key: string, index: number, page: number, rows: number): number | undefined {
  const places: Record<string, number> = {
    ArrowDown: index + 1,
    j: index + 1,
    ArrowUp: index - 1,
    k: index - 1,
    PageDown: index + page,
    PageUp: index - page,
    Home: 0,
    End: rows - 1,
  };
  const place = places[key];
  return place === undefined ? undefined : Math.min(rows - 1, Math.max(0, place));
}

function Rows({ jobs }: { readonly jobs: readonly JobSummary[] }) {
  const rowHeight = useRowHeight();
  const { ref, from, to } = useWindow(jobs.length, rowHeight);
  const [active, setActive] = useState<string>();
  const now = useNow(500);
  const onKeyDown = (event: KeyboardEvent) => {
    const index = jobs.findIndex(({ jobId }) => jobId === active);
    const page = Math.max(1, Math.floor((ref.current?.clientHeight ?? 0) / rowHeight) - 1);
    const place = placeAfter(event.key, index, page, jobs.length);
    if (place !== undefined) {
      event.preventDefault();
      setActive(jobs[place]?.jobId);
      scrollTo(ref.current, place, rowHeight);
    } else if (event.key === 'Enter' && active !== undefined) openJob(active);
  };

  return (
    <div
      ref={ref}
      class="rows"
      role="listbox"
      tabIndex={0}
      aria-label="Jobs, newest change first"
      aria-activedescendant={active === undefined ? undefined : rowId(active)}
      onKeyDown={onKeyDown}
    >
      {jobs.length === 0 && <p class="empty">No jobs.</p>}
      <div class="rows-space" style={{ height: `${jobs.length * rowHeight}px` }}>
        {jobs.slice(from, to).map((job, i) => (
          <JobRow
            key={job.jobId}
            id={rowId(job.jobId)}
            job={job}
            now={now}
            top={(from + i) * rowHeight}
            isActive={job.jobId === active}
            onOpen={() => openJob(job.jobId)}
          />
        ))}
      </div>
    </div>
  );
}

const rowId = (jobId: string) => `job-${jobId}`;
