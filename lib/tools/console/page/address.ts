import { useEffect, useState } from 'preact/hooks';
import type { JobStatus } from '../../../protocol/job.ts';

export const statusFilters = [
  'all',
  'queued',
  'running',
  'pending',
  'done',
  'failed',
  'cancelled',
] as const satisfies readonly (JobStatus | 'all' | 'queued')[];
export type StatusFilter = (typeof statusFilters)[number];

/** By the last change. */
export const timeSpans = { '15m': 900_000, '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 } as const;
export type TimeSpan = keyof typeof timeSpans;

/** @internal */
export const sortKeys = ['changed', 'ran', 'attempts', 'job'] as const;
export type SortKey = (typeof sortKeys)[number];

/** All of it is in the address, so that a link shows the same list. */
export interface Filter {
  readonly status: StatusFilter;
  readonly search: string;
  readonly type?: string;
  readonly error?: string;
  readonly since?: TimeSpan;
  readonly sort: SortKey;
  readonly isReversed: boolean;
}

export const noFilter: Filter = { status: 'all', search: '', sort: 'changed', isReversed: false };

export type Place =
  | { readonly view: 'list'; readonly filter: Filter }
  | { readonly view: 'job'; readonly jobId: string }
  | { readonly view: 'types' };

const oneOf = <name extends string>(names: readonly name[], given: string | null): name | undefined =>
  names.find((name) => name === given);

/** A job's id may be anything, so it is only ever shown as text. @internal */
export function placeOf(fragment: string): Place {
  const [, id] = /^#\/jobs\/(.+)$/.exec(fragment) ?? [];
  if (id !== undefined) return { view: 'job', jobId: decoded(id) };
  if (fragment.startsWith('#/types')) return { view: 'types' };
  const query = new URLSearchParams(fragment.replace(/^#\/\??/, ''));
  const sort = query.get('sort') ?? '';
  return {
    view: 'list',
    filter: {
      status: oneOf(statusFilters, query.get('status')) ?? 'all',
      search: query.get('q') ?? '',
      type: query.get('type') ?? undefined,
      error: query.get('error') ?? undefined,
      since: oneOf(Object.keys(timeSpans) as TimeSpan[], query.get('since')),
      sort: oneOf(sortKeys, sort.replace(/^-/, '')) ?? 'changed',
      isReversed: sort.startsWith('-'),
    },
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Omits defaults. @internal */
export function fragmentOf(place: Place): string {
  if (place.view === 'job') return `#/jobs/${encodeURIComponent(place.jobId)}`;
  if (place.view === 'types') return '#/types';
  const { status, search, type, error, since, sort, isReversed } = place.filter;
  const query = new URLSearchParams();
  if (status !== 'all') query.set('status', status);
  if (type !== undefined) query.set('type', type);
  if (error !== undefined) query.set('error', error);
  if (since !== undefined) query.set('since', since);
  if (search !== '') query.set('q', search);
  if (sort !== 'changed' || isReversed) query.set('sort', `${isReversed ? '-' : ''}${sort}`);
  const text = query.toString();
  return text === '' ? '#/' : `#/?${text}`;
}

export const jobLink = (jobId: string): string => fragmentOf({ view: 'job', jobId });
export const listLink = (filter: Partial<Filter>): string =>
  fragmentOf({ view: 'list', filter: { ...noFilter, ...filter } });

/** The last list, to return to. */
let lastList = '#/';

export const goTo = (fragment: string): void => {
  location.hash = fragment;
};
export const openJob = (jobId: string): void => goTo(jobLink(jobId));
export const backToList = (): void => goTo(lastList);

/** Replaces the history entry, so that Back does not undo a search letter by letter. */
export function setFilter(filter: Filter): void {
  history.replaceState(null, '', fragmentOf({ view: 'list', filter }));
  dispatchEvent(new Event('hashchange'));
}

export const placeNow = (): Place => placeOf(location.hash);

export function usePlace(): Place {
  const [place, setPlace] = useState(placeNow);
  useEffect(() => {
    const follow = () => {
      const next = placeNow();
      if (next.view === 'list') lastList = location.hash || '#/';
      setPlace(next);
    };
    follow();
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return place;
}
