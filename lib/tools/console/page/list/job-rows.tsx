// biome-ignore-all lint/a11y/useSemanticElements: a table of which only the rows in sight are drawn, placed one by one
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus, and names its active row
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { JobSummary } from '../../page-messages.ts';
import { type Filter, openJob, type SortKey, setFilter } from '../address.ts';
import { useNow, useTopic } from '../state.ts';
import { JobRow } from './job-row.tsx';
import { useRows } from './read-rows.ts';

/** Extra rows above and below, so that scrolling shows no gaps. */
const OVERSCAN = 6;
const HEAD = 34;

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

const rowHeightNow = () => (matchMedia('(max-width: 640px)').matches ? 88 : 52);

function useRowHeight(): number {
  const [rowHeight, setRowHeight] = useState(rowHeightNow);
  useEffect(() => {
    const measure = () => setRowHeight(rowHeightNow());
    addEventListener('resize', measure);
    return () => removeEventListener('resize', measure);
  }, []);
  return rowHeight;
}

function scrollTo(element: HTMLElement | null, at: number, rowHeight: number): void {
  if (element === null) return;
  const top = at * rowHeight;
  const height = element.clientHeight - HEAD;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (top + rowHeight > element.scrollTop + height) element.scrollTop = top + rowHeight - height;
}

/** Undefined for keys that do not move. */
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

function useListKeys(act: (key: string) => unknown): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const onListKey = (event: Event) => void latest.current((event as CustomEvent<string>).detail);
    document.addEventListener('listkey', onListKey);
    return () => document.removeEventListener('listkey', onListKey);
  }, []);
}

interface RowsProps {
  readonly jobs: readonly JobSummary[];
  readonly filter: Filter;
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (chosen: ReadonlySet<string>) => void;
}

export function JobRows({ jobs, filter, chosen, onChoose }: RowsProps) {
  useTopic('workers');
  const rowHeight = useRowHeight();
  const { ref, from, to } = useWindow(jobs.length, rowHeight);
  // The index has no errors of old failures; those in sight are read.
  useRows(jobs.slice(from, to).flatMap(({ jobId, isErrorUnread }) => (isErrorUnread ? [jobId] : [])));
  const [active, setActive] = useState<string>();
  const now = useNow(500);
  const toggle = (jobId: string, isRange = false) => onChoose(toggled(jobs, chosen, active, jobId, isRange));
  const act = (key: string): boolean => {
    const index = jobs.findIndex(({ jobId }) => jobId === active);
    const page = Math.max(1, Math.floor(((ref.current?.clientHeight ?? 0) - HEAD) / rowHeight) - 1);
    const place = placeAfter(key, index, page, jobs.length);
    if (place !== undefined) {
      setActive(jobs[place]?.jobId);
      scrollTo(ref.current, place, rowHeight);
    } else if (active === undefined || index === -1) return false;
    else if (key === 'Enter') openJob(active);
    else if (key === 'x' || key === ' ') toggle(active);
    else return false;
    return true;
  };
  useListKeys(act);
  const isAll = chosen.size > 0 && jobs.every(({ jobId }) => chosen.has(jobId));
  return (
    <div
      ref={ref}
      class="rows"
      role="grid"
      tabIndex={0}
      aria-label="Jobs"
      aria-multiselectable="true"
      aria-rowcount={jobs.length + 1}
      aria-activedescendant={active === undefined ? undefined : rowId(active)}
      onKeyDown={(event) => {
        if (event.target === event.currentTarget && act(event.key)) event.preventDefault();
      }}
    >
      <Heads
        filter={filter}
        isAll={isAll}
        onAll={() => onChoose(isAll ? new Set() : new Set(jobs.map(({ jobId }) => jobId)))}
      />
      <div class="rows-space" role="rowgroup" style={{ height: `${jobs.length * rowHeight}px` }}>
        {jobs.slice(from, to).map((job, i) => (
          <JobRow
            key={job.jobId}
            id={rowId(job.jobId)}
            job={job}
            now={now}
            index={from + i + 2}
            top={(from + i) * rowHeight}
            isActive={job.jobId === active}
            isChosen={chosen.has(job.jobId)}
            onToggle={(isRange) => {
              toggle(job.jobId, isRange);
              setActive(job.jobId);
            }}
          />
        ))}
      </div>
    </div>
  );
}

function toggled(
  jobs: readonly JobSummary[],
  chosen: ReadonlySet<string>,
  active: string | undefined,
  jobId: string,
  isRange: boolean,
): ReadonlySet<string> {
  const next = new Set(chosen);
  const [a, b] = [active, jobId].map((id) => jobs.findIndex((job) => job.jobId === id)) as [number, number];
  if (isRange && a !== -1)
    for (const job of jobs.slice(Math.min(a, b), Math.max(a, b) + 1)) next.add(job.jobId);
  else if (!next.delete(jobId)) next.add(jobId);
  return next;
}

const heads: readonly (readonly [name: string, className: string, sort?: SortKey])[] = [
  ['state', 'state'],
  ['job', 'name', 'job'],
  ['what happens', 'what'],
  ['attempts', 'marks', 'attempts'],
  ['ran', 'ran', 'ran'],
  ['changed', 'when', 'changed'],
];

function Heads(props: { readonly filter: Filter; readonly isAll: boolean; readonly onAll: () => void }) {
  const { filter } = props;
  return (
    <div role="rowgroup" class="heads">
      <div role="row" aria-rowindex={1} class="head">
        <span role="columnheader" class="pick">
          <input
            type="checkbox"
            aria-label="Select all jobs that are listed"
            checked={props.isAll}
            onChange={props.onAll}
          />
        </span>
        {heads.map(([name, className, sort]) => (
          <span key={name} role="columnheader" class={className} aria-sort={sortOf(filter, sort)}>
            {sort === undefined ? (
              name
            ) : (
              <button
                type="button"
                onClick={() =>
                  setFilter({ ...filter, sort, isReversed: filter.sort === sort && !filter.isReversed })
                }
              >
                {name}
                {filter.sort === sort && <i aria-hidden="true">{filter.isReversed ? ' ↑' : ' ↓'}</i>}
              </button>
            )}
          </span>
        ))}
      </div>
    </div>
  );
}

function sortOf({ sort, isReversed }: Filter, own: SortKey | undefined) {
  if (own === undefined || sort !== own) return undefined;
  return isReversed ? 'ascending' : 'descending';
}

const rowId = (jobId: string) => `job-${jobId}`;
