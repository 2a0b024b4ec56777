// biome-ignore-all lint/a11y/useSemanticElements: on a phone a row is two lines, which a table row cannot be
// biome-ignore-all lint/a11y/useFocusableInteractive: its links, boxes and buttons have the focus
import { useState } from 'preact/hooks';
import type { JobSummary } from '../../page-messages.ts';
import { type Filter, type SortKey, setFilter } from '../address.ts';
import { useTopic } from '../state.ts';
import { JobRow } from './job-row.tsx';
import { useRows } from './read-rows.ts';

/** Rows are drawn several times a second, and there may be ten thousand. */
const DRAWN_AT_FIRST = 100;

export function JobRows(props: {
  readonly jobs: readonly JobSummary[];
  readonly now: number;
  readonly filter: Filter;
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (chosen: ReadonlySet<string>) => void;
}) {
  const { jobs, now, filter, chosen, onChoose } = props;
  useTopic('workers');
  const [most, setMost] = useState(DRAWN_AT_FIRST);
  const [last, setLast] = useState<string>();
  const drawn = jobs.slice(0, most);
  // The index has no errors of old failures; those in sight are read.
  useRows(drawn.flatMap(({ jobId, isErrorUnread }) => (isErrorUnread ? [jobId] : [])));
  const isAll = chosen.size > 0 && jobs.every(({ jobId }) => chosen.has(jobId));
  return (
    <div class="rows" role="table" aria-label="Jobs" aria-rowcount={jobs.length + 1}>
      <Heads
        filter={filter}
        isAll={isAll}
        onAll={() => onChoose(isAll ? new Set() : new Set(jobs.map(({ jobId }) => jobId)))}
      />
      <div role="rowgroup">
        {drawn.map((job, i) => (
          <JobRow
            key={job.jobId}
            job={job}
            now={now}
            index={i + 2}
            isChosen={chosen.has(job.jobId)}
            onToggle={(isRange) => {
              onChoose(toggled(jobs, chosen, last, job.jobId, isRange));
              setLast(job.jobId);
            }}
          />
        ))}
      </div>
      {jobs.length > most && (
        <button type="button" class="button more" onClick={() => setMost(2 * most)}>
          show more
        </button>
      )}
    </div>
  );
}

function toggled(
  jobs: readonly JobSummary[],
  chosen: ReadonlySet<string>,
  last: string | undefined,
  jobId: string,
  isRange: boolean,
): ReadonlySet<string> {
  const next = new Set(chosen);
  const [a, b] = [last, jobId].map((id) => jobs.findIndex((job) => job.jobId === id)) as [number, number];
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
