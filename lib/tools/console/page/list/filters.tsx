import { useMemo } from 'preact/hooks';
import { errorGroup, matches } from '../../job-filter.ts';
import type { JobSummary, TimeSpan } from '../../page-messages.ts';
import { type Filter, setFilter } from '../address.ts';
import { state, useNow } from '../state.ts';

const spans: Readonly<Record<TimeSpan, string>> = {
  '15m': 'last 15 minutes',
  '1h': 'last hour',
  '24h': 'last 24 hours',
  '7d': 'last 7 days',
};
const COUNT_EVERY_MS = 2_000;
const MOST = 30;

export function Filters({ filter }: { readonly filter: Filter }) {
  // Counting ten thousand jobs for the menus is slow, so do it rarely.
  const now = useNow(COUNT_EVERY_MS);
  const { types, errors } = useMemo(() => {
    const others = (left: Partial<Filter>) =>
      [...state.jobs.values()].filter((job) => matches(job, { ...filter, ...left }, now) === true);
    return {
      types: countBy(others({ type: undefined }), ({ type }) => type),
      errors: countBy(others({ error: undefined }), errorOf),
    };
  }, [now, filter]);
  return (
    <div class="filters">
      <Menu
        name="type"
        all="any type"
        value={filter.type}
        options={types}
        onChange={(type) => setFilter({ ...filter, type })}
      />
      <Menu
        name="error"
        all="any error"
        value={filter.error}
        options={errors}
        onChange={(error) => setFilter({ ...filter, error })}
      />
      <Menu
        name="time"
        all="any time"
        value={filter.since}
        options={Object.entries(spans).map(([value, label]) => ({ value, label }))}
        onChange={(since) => setFilter({ ...filter, since: since as TimeSpan | undefined })}
      />
    </div>
  );
}

/** A done job has no error that matters. */
const errorOf = ({ lastError, status }: JobSummary): string | undefined =>
  lastError === undefined || status === 'done' ? undefined : errorGroup(lastError);

interface Option {
  readonly value: string;
  readonly label: string;
}

function countBy(jobs: readonly JobSummary[], nameOf: (job: JobSummary) => string | undefined): Option[] {
  const counts = new Map<string, number>();
  for (const job of jobs) {
    const name = nameOf(job);
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MOST)
    .map(([value, count]) => ({ value, label: `${value} (${count})` }));
}

function Menu(props: {
  readonly name: string;
  readonly all: string;
  readonly value: string | undefined;
  readonly options: readonly Option[];
  readonly onChange: (value: string | undefined) => void;
}) {
  const { name, all, value, options } = props;
  const isListed = value === undefined || options.some((option) => option.value === value);
  return (
    <select
      class="menu"
      aria-label={`Show jobs by ${name}`}
      data-on={value !== undefined}
      value={value ?? ''}
      onChange={(event) => props.onChange(event.currentTarget.value || undefined)}
    >
      <option value="">{all}</option>
      {!isListed && <option value={value}>{value} (0)</option>}
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
}
