import type { EmbeddedReaper } from '../../reaper/embedded.ts';
import { FLUSH_MS } from '../../wire/metrics.ts';
import { ShuttingDown } from '../abort-reasons.ts';
import { createEngine } from '../intake/engine.ts';
import { createPolls } from '../intake/polls.ts';
import { createSlots } from '../intake/slots.ts';
import { createMessageTaker } from '../intake/start-messages.ts';
import { gatherCompletions } from '../run/gather-completions.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { onStopSignals } from './stop-signals.ts';

/** What a worker process is made of. */
export interface WorkerProcessOptions {
  readonly parts: WorkerParts;
  readonly reaper?: EmbeddedReaper;
  /** Writes gathered metrics out; called now and then, and at the end. */
  readonly flush?: () => void;
  /** Whether SIGTERM and SIGINT drain the worker; a second one releases running jobs at once. @default true */
  readonly signals?: boolean;
}

/** A worker that polls the queue in this process. */
export interface WorkerProcess {
  /** Stops receiving, lets jobs finish for a while, and releases those that have not. A second call does not wait. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
  /** Resolves when the worker has stopped; rejects when it never could start, because its jobs module cannot be loaded. */
  readonly stopped: Promise<void>;
  /** Jobs that run now. */
  readonly running: number;
  /** Whether it takes jobs: a cell is ready, the clock is sound, and the last poll was answered. */
  isHealthy(): boolean;
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Runs jobs in this process until it is stopped. */
export function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  const { parts, reaper, flush } = options;
  const { settings, clock, telemetry, heart, cells } = parts;
  const limit = settings.processConcurrency;
  const slots = createSlots(clock, limit, () => onRoom());
  const draining = new AbortController();
  const releasing = new AbortController();
  const hurry = new AbortController();
  const engine = createEngine(limit > 1 ? { ...parts, store: gatherCompletions(parts.store, clock) } : parts);
  const taker = createMessageTaker({
    ...{ parts, slots, engine },
    bounds: { stopping: releasing.signal, releaseWithinMs: settings.deadlineMarginMs / 2 },
    isBacklog: () => polls.isBacklog(),
    onRoom: () => polls.consider(),
  });
  const polls = createPolls({
    ...{ parts, slots, draining: draining.signal, hurry: hurry.signal },
    inHand: () => taker.inHand(),
    take: (messages) => taker.take(messages),
  });
  const onRoom = () => {
    taker.claimMore();
    polls.consider();
  };
  const hasStopped = Promise.withResolvers<void>();
  let unloadable: unknown;
  const flushing = flush && setInterval(flush, FLUSH_MS);
  flushing?.unref();

  const drain = async (graceMs: number): Promise<void> => {
    draining.abort();
    cells.drain();
    telemetry.info('worker drains', { running: slots.taken });
    const claimed = taker.drain();
    await slots.empty(graceMs, hurry.signal);
    // The last poll gets to its end first: one that is cut off can still be given messages, the jobs' own hints among
    // them, and those would stay hidden for the whole visibility timeout.
    await polls.lastPolls();
    releasing.abort(new ShuttingDown('shutdown'));
    // In this order: what was being claimed all the while is started, and then released like the others.
    await claimed;
    await slots.empty(Number.POSITIVE_INFINITY);
    await taker.settle();
    await reaper?.stop();
    await Promise.all([heart.quiet(), engine.quiet()]);
    await cells.close();
    clearInterval(flushing);
    flush?.();
  };

  let ending: Promise<void> | undefined;
  const stop: WorkerProcess['stop'] = ({ graceMs = settings.shutdownGraceMs } = {}) => {
    if (ending !== undefined) hurry.abort();
    ending ??= drain(graceMs).finally(() => {
      stopListening?.();
      if (unloadable === undefined) hasStopped.resolve();
      else hasStopped.reject(unloadable);
    });
    return ending;
  };
  const stopListening = options.signals === false ? undefined : onStopSignals(SIGNALS, () => void stop());

  reaper?.start();
  cells.ready().then(
    () => polls.consider(),
    (error: unknown) => {
      // Nothing was received: no message's count has risen, and whoever looks after this process sees it end.
      unloadable = error;
      telemetry.error('the jobs module cannot be loaded: the worker stops', error);
      void stop({ graceMs: 0 });
    },
  );
  return {
    stop,
    stopped: hasStopped.promise,
    isHealthy: () => !draining.signal.aborted && cells.isReady() && polls.isPolling(),
    get running() {
      return slots.taken;
    },
  };
}
