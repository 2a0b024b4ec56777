import { useEffect, useState } from 'preact/hooks';
import { processOf, workerOf } from '../../inspect/worker-name.ts';
import type { ActionReply, Figures, Hello, JobSummary, WorkerSummary } from '../page-messages.ts';

/** `lost`: the browser retries. `refused`: access was denied. */
export type StreamState = 'connecting' | 'live' | 'lost' | 'refused';

/** Mutated in place; `changed` notifies the components. */
export const state = {
  connection: 'connecting' as StreamState,
  hello: undefined as Hello | undefined,
  figures: undefined as Figures | undefined,
  jobs: new Map<string, JobSummary>(),
  workers: [] as readonly WorkerSummary[],
  /** Server time minus browser time. */
  clockOffset: 0,
  stoppedAt: undefined as number | undefined,
  toasts: [] as readonly { readonly key: number; readonly reply: ActionReply }[],
};

export type Topic = 'connection' | 'jobs' | 'workers' | 'figures' | 'toasts';

const listeners: Record<Topic, Set<(jobIds: ReadonlySet<string>) => void>> = {
  connection: new Set(),
  jobs: new Set(),
  workers: new Set(),
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

export function useTopic(topic: Topic): void {
  const [, redraw] = useState(0);
  useEffect(() => listen(topic, () => redraw((count) => count + 1)), [topic]);
}

export const isCutOff = (): boolean =>
  state.connection === 'lost' || state.connection === 'refused' || state.figures?.problem !== undefined;

/** Acting on stale data would be acting blindly. */
export function useCanAct(): boolean {
  useTopic('connection');
  useTopic('figures');
  return state.hello?.writable === true && !isCutOff();
}

export function ownerName(leaseOwner: string): string {
  const worker = workerOf(leaseOwner);
  return (state.hello?.mode === 'local' ? processOf(worker) : undefined) ?? worker;
}

export const isOwnerGone = (leaseOwner: string | undefined): boolean =>
  leaseOwner !== undefined &&
  state.workers.some((worker) => worker.state === 'gone' && worker.name === ownerName(leaseOwner));

export const serverNow = (): number => state.stoppedAt ?? Date.now() + state.clockOffset;

export function useNow(everyMs = 1000): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(serverNow());
    }, everyMs);
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

export function toast(reply: ActionReply): void {
  const shown = { key: ++toastKey, reply };
  state.toasts = [...state.toasts.slice(-2), shown];
  changed('toasts');
  setTimeout(() => {
    state.toasts = state.toasts.filter((each) => each !== shown);
    changed('toasts');
  }, TOAST_MS);
}
