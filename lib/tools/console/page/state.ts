import { useEffect, useState } from 'preact/hooks';
import { processOf, workerOf } from '../../inspect/worker-name.ts';
import type {
  ActionReply,
  Figures,
  Hello,
  JobSummary,
  ReclaimPoint,
  SeriesPoint,
  WorkerSummary,
} from '../page-messages.ts';

/** `lost`: the browser tries again by itself. `refused`: it was let in no longer. `paused`: by the reader. */
export type StreamState = 'connecting' | 'live' | 'lost' | 'refused' | 'paused';

/** What the page knows. One object, changed in place; `changed` tells whoever draws from it. */
export const state = {
  connection: 'connecting' as StreamState,
  hello: undefined as Hello | undefined,
  figures: undefined as Figures | undefined,
  jobs: new Map<string, JobSummary>(),
  workers: [] as readonly WorkerSummary[],
  points: new Map<number, SeriesPoint>(),
  reclaims: [] as ReclaimPoint[],
  /** Server time minus this browser's. */
  clockOffset: 0,
  /** The moment at which all clocks of the page stand still, because what it shows is of then. */
  stoppedAt: undefined as number | undefined,
  toasts: [] as readonly { readonly key: number; readonly reply: ActionReply }[],
};

export type Topic = 'connection' | 'jobs' | 'workers' | 'series' | 'figures' | 'toasts';

const listeners: Record<Topic, Set<(jobIds: ReadonlySet<string>) => void>> = {
  connection: new Set(),
  jobs: new Set(),
  workers: new Set(),
  series: new Set(),
  figures: new Set(),
  toasts: new Set(),
};
export const noJobs: ReadonlySet<string> = new Set();

export function changed(topic: Topic, jobIds: ReadonlySet<string> = noJobs): void {
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

/** Whether what the page shows is old, and not because the reader wants it so. */
export const isCutOff = (): boolean =>
  state.connection === 'lost' || state.connection === 'refused' || state.figures?.problem !== undefined;

/** Whether acting makes sense: on what is cut off, it would be acting blindly. */
export function useCanAct(): boolean {
  useTopic('connection');
  useTopic('figures');
  return state.hello?.writable === true && !isCutOff();
}

/** A lease's owner as people know it. */
export function ownerName(leaseOwner: string): string {
  const worker = workerOf(leaseOwner);
  return (state.hello?.mode === 'local' ? processOf(worker) : undefined) ?? worker;
}

/** Whether the process that holds this lease is known to be dead. */
export const isOwnerGone = (leaseOwner: string | undefined): boolean =>
  leaseOwner !== undefined &&
  state.workers.some((worker) => worker.state === 'gone' && worker.name === ownerName(leaseOwner));

export const serverNow = (): number => state.stoppedAt ?? Date.now() + state.clockOffset;

/** The time, updated every so often; not while the page is hidden. */
export function useNow(everyMs = 1000): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(serverNow());
    }, everyMs);
    // When the clocks stop, they stop at once.
    const unlisten = listen('connection', () => setNow(serverNow()));
    return () => {
      clearInterval(timer);
      unlisten();
    };
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
