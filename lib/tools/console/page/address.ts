import { useEffect, useState } from 'preact/hooks';
import type { JobStatus } from '../../../protocol/job.ts';
import { type JobFilter, type TimeSpan, timeSpans } from '../page-messages.ts';

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

/** @internal */
export const sortKeys = ['changed', 'ran', 'attempts', 'job'] as const;
export type SortKey = (typeof sortKeys)[number];

export interface Filter extends JobFilter {
  readonly sort: SortKey;
  readonly isReversed: boolean;
}

export const noFilter: Filter = { status: 'all', search: '', sort: 'changed', isReversed: false };

export type Aside = 'workers' | 'history';

export type Place =
  /** On narrow pages, `aside` takes the list's place. */
  | { readonly view: 'list'; readonly filter: Filter; readonly aside?: Aside }
  | { readonly view: 'job'; readonly jobId: string }
  | { readonly view: 'types' };

const oneOf = <name extends string>(names: readonly name[], given: string | null): name | undefined =>
  names.find((name) => name === given);

/** A job's id may be anything, so it is only ever shown as text. @internal */
export function placeOf(fragment: string): Place {
  const [, id] = /^#\/jobs\/(.+)$/.exec(fragment) ?? [];
  if (id !== undefined) return { view: 'job', jobId: decoded(id) };
  if (fragment.startsWith('#/types')) return { view: 'types' };
  const [, aside] = /^#\/(workers|history)$/.exec(fragment) ?? [];
  if (aside !== undefined) return { view: 'list', filter: noFilter, aside: aside as Aside };
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
  if (place.aside !== undefined) return `#/${place.aside}`;
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
      if (next.view === 'list' && next.aside === undefined) lastList = location.hash || '#/';
      setPlace(next);
    };
    follow();
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return place;
}
