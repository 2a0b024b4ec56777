import type { StreamEvents } from '../page-messages.ts';
import { streamUrl } from './api.ts';
import { changed, noJobs, type StreamState, state } from './state.ts';

/** The server sends something every second, so longer silence means a lost connection. */
const SILENCE_MS = 8_000;
const LOOK_EVERY_MS = 1_000;

let token: string | undefined;
let source: EventSource | undefined;
let heardAt = 0;

const handlers: { readonly [name in keyof StreamEvents]: (data: StreamEvents[name]) => void } = {
  hello(hello) {
    state.hello = hello;
    state.clockOffset = hello.now - Date.now();
    setConnection('live');
  },
  jobs({ jobs, gone, reset, now }) {
    state.clockOffset = now - Date.now();
    if (reset) state.jobs.clear();
    for (const job of jobs) state.jobs.set(job.jobId, job);
    for (const jobId of gone) state.jobs.delete(jobId);
    changed('jobs', reset ? noJobs : new Set([...jobs.map(({ jobId }) => jobId), ...gone]));
  },
  workers(workers) {
    state.workers = workers;
    changed('workers');
  },
  figures(figures) {
    const wasCutOff = state.figures?.problem !== undefined;
    state.figures = figures;
    state.stoppedAt = figures.problem === undefined ? undefined : figures.readAt;
    if (wasCutOff !== (figures.problem !== undefined)) changed('connection');
    changed('figures');
  },
};

function setConnection(connection: StreamState): void {
  if (state.connection === connection) return;
  state.connection = connection;
  // The data shown dates from the last message, so the clocks stop there.
  state.stoppedAt = connection === 'live' ? undefined : (state.stoppedAt ?? heardAt + state.clockOffset);
  changed('connection');
}

function open(): void {
  if (token === undefined) return;
  const opened = new EventSource(streamUrl(token));
  source = opened;
  heardAt = Date.now();
  for (const name of Object.keys(handlers) as (keyof StreamEvents)[])
    opened.addEventListener(name, (event) => {
      if (opened !== source) return;
      heardAt = Date.now();
      (handlers[name] as (data: unknown) => void)(JSON.parse((event as MessageEvent<string>).data));
      if (state.connection === 'lost') setConnection('live');
    });
  opened.addEventListener('error', () => {
    if (opened !== source) return;
    const isClosed = opened.readyState === EventSource.CLOSED;
    if (state.hello !== undefined || isClosed) setConnection(isClosed ? 'refused' : 'lost');
  });
}

/** The browser reconnects by itself. */
export function openStream(given: string): void {
  token = given;
  open();
  setInterval(() => {
    const isSilent = state.connection === 'live' && Date.now() - heardAt > SILENCE_MS;
    // Timers of a hidden page sleep, so its silence proves nothing.
    if (!isSilent || document.hidden) return;
    setConnection('lost');
    source?.close();
    open();
  }, LOOK_EVERY_MS);
}
