import type { Clock } from '../protocol/ports.ts';
import type { Hello, JobView, StreamEvents, WorkerView } from './protocol.ts';
import type { Watcher } from './watcher.ts';

/** Receives the stream's events. */
export type Listener = <name extends keyof StreamEvents>(event: name, data: StreamEvents[name]) => void;

/** What the pages are told: everything at first, from then on what changed. */
export interface Feed {
  /** Tells this page; returns how to stop. */
  attach(listener: Listener): () => void;
  /** The workers may have changed. */
  workersChanged(): void;
  stop(): void;
}

/** Changes are gathered this long, so that a burst is one message and one drawing. */
const GATHER_MS = 40;
const SERIES_EVERY_MS = 1_000;
/** Jobs in one message of the first telling: the page draws while the rest arrives. */
const CHUNK = 2_000;

export function createFeed(options: {
  readonly watcher: Watcher;
  readonly clock: Clock;
  readonly hello: () => Omit<Hello, 'now'>;
  readonly workers: () => readonly WorkerView[];
}): Feed {
  const { watcher, clock } = options;
  const listeners = new Set<Listener>();
  const changed = new Set<string>();
  const gone = new Set<string>();
  let workersTold = '';
  let timer: NodeJS.Timeout | undefined;

  const tellAll: Listener = (event, data) => {
    for (const listener of listeners) listener(event, data);
  };
  const flush = () => {
    timer = undefined;
    if (changed.size > 0 || gone.size > 0) {
      const jobs = [...changed].flatMap((jobId) => watcher.book.get(jobId) ?? []);
      tellAll('jobs', { now: clock.now(), jobs, gone: [...gone] });
      changed.clear();
      gone.clear();
    }
    const workers = options.workers();
    const text = JSON.stringify(workers);
    if (text === workersTold) return;
    workersTold = text;
    tellAll('workers', workers);
  };
  const soon = () => {
    if (listeners.size > 0) timer ??= setTimeout(flush, GATHER_MS);
  };
  const unlisten = watcher.book.listen((change) => {
    if ('gone' in change) {
      changed.delete(change.gone);
      gone.add(change.gone);
    } else {
      gone.delete(change.jobId);
      changed.add(change.jobId);
    }
    soon();
  });
  const seriesTimer = setInterval(() => {
    const { running, pending } = watcher.book.counts();
    watcher.series.read(clock.now(), { live: running, waiting: pending });
    const changes = watcher.series.changes();
    if (changes.points.length > 0 || changes.reclaims.length > 0) tellAll('series', changes);
  }, SERIES_EVERY_MS);
  seriesTimer.unref();

  return {
    attach(listener) {
      if (listeners.size === 0) {
        // Nobody listened, so nothing was sent: the first telling below has it all.
        changed.clear();
        gone.clear();
      }
      listener('hello', { ...options.hello(), now: clock.now() });
      const all: JobView[] = [...watcher.book.all()];
      for (let i = 0; i === 0 || i < all.length; i += CHUNK)
        listener('jobs', {
          now: clock.now(),
          jobs: all.slice(i, i + CHUNK),
          gone: [],
          ...(i === 0 ? { reset: true } : {}),
        });
      listener('workers', options.workers());
      listener('series', watcher.series.all());
      listeners.add(listener);
      watcher.watched(1);
      return () => {
        if (listeners.delete(listener)) watcher.watched(-1);
      };
    },
    workersChanged: soon,
    stop() {
      unlisten();
      clearTimeout(timer);
      clearInterval(seriesTimer);
      listeners.clear();
    },
  };
}
