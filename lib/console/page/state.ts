import { useEffect, useState } from 'preact/hooks';
import { processOf, workerOf } from '../../inspect/worker-name.ts';
import type { JobStatus } from '../../protocol/job.ts';
import type {
  ActionReply,
  Hello,
  JobSummary,
  ReclaimPoint,
  SeriesPoint,
  StreamEvents,
  WorkerSummary,
} from '../page-messages.ts';
import { streamUrl } from './api.ts';

export type StreamState = 'connecting' | 'live' | 'lost';

/** What the page knows. One object, changed in place; `changed` tells whoever draws from it. */
export const state = {
  connection: 'connecting' as StreamState,
  hello: undefined as Hello | undefined,
  jobs: new Map<string, JobSummary>(),
  counts: { pending: 0, running: 0, done: 0, failed: 0, cancelled: 0 } as Record<JobStatus, number>,
  workers: [] as readonly WorkerSummary[],
  points: new Map<number, SeriesPoint>(),
  reclaims: [] as ReclaimPoint[],
  /** Server time minus this browser's. */
  clockOffset: 0,
  toasts: [] as readonly { readonly key: number; readonly reply: ActionReply }[],
};

export type Topic = 'connection' | 'jobs' | 'workers' | 'series' | 'toasts';

const listeners: Record<Topic, Set<(jobIds: ReadonlySet<string>) => void>> = {
  connection: new Set(),
  jobs: new Set(),
  workers: new Set(),
  series: new Set(),
  toasts: new Set(),
};
const none: ReadonlySet<string> = new Set();

function changed(topic: Topic, jobIds: ReadonlySet<string> = none): void {
  for (const listener of listeners[topic]) listener(jobIds);
}

export function listen(topic: Topic, listener: (jobIds: ReadonlySet<string>) => void): () => void {
  listeners[topic].add(listener);
  return () => listeners[topic].delete(listener);
}

/** Draws the component again whenever something of this topic changed. */
export function useTopic(topic: Topic): void {
  const [, redraw] = useState(0);
  useEffect(() => listen(topic, () => redraw((count) => count + 1)), [topic]);
}

/** A lease's owner as people know it. */
export function ownerName(leaseOwner: string): string {
  const worker = workerOf(leaseOwner);
  return (state.hello?.mode === 'local' ? processOf(worker) : undefined) ?? worker;
}

export const serverNow = (): number => Date.now() + state.clockOffset;

/** The time, updated every so often; not while the page is hidden. */
export function useNow(everyMs = 1000): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(serverNow());
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

const TOAST_MS = 5_000;
let toastKey = 0;

/** Shows the answer to an action for a while. */
export function toast(reply: ActionReply): void {
  const shown = { key: ++toastKey, reply };
  state.toasts = [...state.toasts.slice(-2), shown];
  changed('toasts');
  setTimeout(() => {
    state.toasts = state.toasts.filter((each) => each !== shown);
    changed('toasts');
  }, TOAST_MS);
}

function forget(jobId: string): void {
  const job = state.jobs.get(jobId);
  if (job === undefined) return;
  state.jobs.delete(jobId);
  state.counts[job.status] -= 1;
}

const handlers: { readonly [name in keyof StreamEvents]: (data: StreamEvents[name]) => void } = {
  hello(hello) {
    state.hello = hello;
    state.connection = 'live';
    state.clockOffset = hello.now - Date.now();
    changed('connection');
  },
  jobs({ jobs, gone, reset, now }) {
    state.clockOffset = now - Date.now();
    if (reset) {
      state.jobs.clear();
      state.counts = { pending: 0, running: 0, done: 0, failed: 0, cancelled: 0 };
    }
    for (const job of jobs) {
      forget(job.jobId);
      state.jobs.set(job.jobId, job);
      state.counts[job.status] += 1;
    }
    for (const jobId of gone) forget(jobId);
    changed('jobs', reset ? none : new Set([...jobs.map(({ jobId }) => jobId), ...gone]));
  },
  workers(workers) {
    state.workers = workers;
    changed('workers');
  },
  series({ points, reclaims, reset }) {
    if (reset) {
      state.points.clear();
      state.reclaims = [];
    }
    for (const point of points) state.points.set(point.second, point);
    state.reclaims.push(...reclaims);
    changed('series');
  },
};

/** Opens the stream; the browser opens it again by itself when it breaks. */
export function openStream(token: string): void {
  const source = new EventSource(streamUrl(token));
  for (const name of Object.keys(handlers) as (keyof StreamEvents)[])
    source.addEventListener(name, (event) =>
      (handlers[name] as (data: unknown) => void)(JSON.parse((event as MessageEvent<string>).data)),
    );
  source.addEventListener('error', () => {
    state.connection = source.readyState === EventSource.CLOSED ? 'lost' : 'connecting';
    changed('connection');
  });
}
