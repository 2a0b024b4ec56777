import type { Clock } from '../../protocol/ports.ts';
import type { Figures, Hello, StreamEvents, WorkerSummary } from './page-messages.ts';
import type { JobChange } from './watch/known-jobs.ts';
import type { Watcher } from './watch/watcher.ts';

export type Listener = <name extends keyof StreamEvents>(event: name, data: StreamEvents[name]) => void;

export interface FeedOptions {
  readonly watcher: Watcher;
  readonly clock: Clock;
  readonly hello: () => Omit<Hello, 'now'>;
  readonly workers: () => readonly WorkerSummary[];
  readonly figures: () => Figures;
}

/** Collects a burst of changes into one message. */
const GATHER_MS = 40;
const FIGURES_EVERY_MS = 1_000;
/** Jobs per message at first, so that the page draws while the rest arrives. */
const CHUNK = 2_000;

export class Feed {
  readonly #options: FeedOptions;
  readonly #listeners = new Set<Listener>();
  readonly #changed = new Set<string>();
  readonly #gone = new Set<string>();
  readonly #unlisten: () => void;
  readonly #figuresTimer: NodeJS.Timeout;
  #workersTold = '';
  #flushTimer: NodeJS.Timeout | undefined;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#unlisten = options.watcher.jobs.listen((change) => this.#note(change));
    this.#figuresTimer = setInterval(() => this.#tellFigures(), FIGURES_EVERY_MS).unref();
  }

  attach(listener: Listener): () => void {
    const { watcher } = this.#options;
    if (this.#listeners.size === 0) {
      // Without listeners nothing was sent, and the snapshot includes these changes.
      this.#changed.clear();
      this.#gone.clear();
    }
    this.#tellEverything(listener);
    this.#listeners.add(listener);
    watcher.watched(1);
    return () => {
      if (this.#listeners.delete(listener)) watcher.watched(-1);
    };
  }

  workersChanged(): void {
    this.#flushSoon();
  }

  stop(): void {
    this.#unlisten();
    clearTimeout(this.#flushTimer);
    clearInterval(this.#figuresTimer);
    this.#listeners.clear();
  }

  #tellEverything(listener: Listener): void {
    const { watcher, clock, hello, workers } = this.#options;
    listener('hello', { ...hello(), now: clock.now() });
    const all = [...watcher.jobs.all()];
    for (let i = 0; i === 0 || i < all.length; i += CHUNK)
      listener('jobs', {
        now: clock.now(),
        jobs: all.slice(i, i + CHUNK),
        gone: [],
        reset: i === 0 ? true : undefined,
      });
    listener('workers', workers());
    listener('figures', this.#options.figures());
  }

  #note(change: JobChange): void {
    if ('gone' in change) {
      this.#changed.delete(change.gone);
      this.#gone.add(change.gone);
    } else {
      this.#gone.delete(change.jobId);
      this.#changed.add(change.jobId);
    }
    this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#listeners.size > 0) this.#flushTimer ??= setTimeout(() => this.#flush(), GATHER_MS);
  }

  #flush(): void {
    const { watcher, clock, workers } = this.#options;
    this.#flushTimer = undefined;
    if (this.#changed.size > 0 || this.#gone.size > 0) {
      const jobs = [...this.#changed].flatMap((jobId) => watcher.jobs.get(jobId) ?? []);
      this.#tell('jobs', { now: clock.now(), jobs, gone: [...this.#gone] });
      this.#tell('figures', this.#options.figures());
      this.#changed.clear();
      this.#gone.clear();
    }
    const told = workers();
    const text = JSON.stringify(told);
    if (text === this.#workersTold) return;
    this.#workersTold = text;
    this.#tell('workers', told);
  }

  #tellFigures(): void {
    if (this.#listeners.size > 0) this.#tell('figures', this.#options.figures());
    this.#flushSoon();
  }

  #tell: Listener = (event, data) => {
    for (const listener of this.#listeners) listener(event, data);
  };
}
