import type { EmbeddedReaper } from '../../reaper/embedded.ts';
import { FLUSH_MS } from '../../wire/metrics.ts';
import { ShuttingDown } from '../abort-reasons.ts';
import { declareTypes } from '../declare-types.ts';
import { createEngine } from '../intake/engine.ts';
import { createPolls } from '../intake/polls.ts';
import { createSlots } from '../intake/slots.ts';
import { createMessageTaker } from '../intake/start-messages.ts';
import { gatherCompletions } from '../run/gather-completions.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { onStopSignals } from './stop-signals.ts';

export interface WorkerProcessOptions {
  readonly parts: WorkerParts;
  readonly reaper?: EmbeddedReaper;
  /** Rejects if no request can ever succeed, for example without a region. @default - not checked */
  readonly reachable?: Promise<unknown>;
  /** For containers that may be scaled in. @default - not protected */
  readonly protect?: (longestRunMs: () => number) => { stop(): Promise<void> };
  readonly flush?: () => void;
  /** Drain on SIGTERM and SIGINT; a second signal releases running jobs at once. @default true */
  readonly signals?: boolean;
}

/** A worker that polls the queue in this process. */
export interface WorkerProcess {
  /** Stops receiving, waits for running jobs, then releases the rest. A second call releases them at once. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
  /** Resolves once stopped; rejects if the jobs module or the table cannot be used. */
  readonly stopped: Promise<void>;
  readonly running: number;
  /** True while a cell is ready, the clock is sound and the last poll was answered. */
  isHealthy(): boolean;
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

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
    parts,
    slots,
    engine,
    bounds: { stopping: releasing.signal, releaseWithinMs: settings.deadlineMarginMs / 2 },
    isBacklog: () => polls.isBacklog(),
    onRoom: () => polls.consider(),
  });
  const polls = createPolls({
    parts,
    slots,
    draining: draining.signal,
    hurry: hurry.signal,
    isReachable: engine.isReachable,
    inHand: () => taker.inHand(),
    take: (messages) => taker.take(messages),
  });
  const onRoom = () => {
    taker.claimMore();
    polls.consider();
  };
  const protection = options.protect?.(slots.longestRunMs);
  const hasStopped = Promise.withResolvers<void>();
  let unusable: unknown;
  const flushing = flush && setInterval(flush, FLUSH_MS);
  flushing?.unref();

  const drain = async (graceMs: number): Promise<void> => {
    draining.abort();
    cells.drain();
    telemetry.info('worker drains', { running: slots.taken });
    const claimed = taker.drain();
    await slots.empty(graceMs, hurry.signal);
    // An aborted poll can still receive messages, which would stay hidden for the whole visibility timeout.
    await polls.lastPolls();
    releasing.abort(new ShuttingDown('shutdown'));
    // Jobs claimed meanwhile start first, so that they are released like the others.
    await claimed;
    await slots.empty(Number.POSITIVE_INFINITY);
    await taker.settle();
    await Promise.all([reaper?.stop(), protection?.stop()]);
    await Promise.all([heart.quiet(), engine.quiet(), cells.quiet()]);
    await cells.close();
    clearInterval(flushing);
    flush?.();
  };

  let ending: Promise<void> | undefined;
  const stop: WorkerProcess['stop'] = ({ graceMs = settings.shutdownGraceMs } = {}) => {
    if (ending !== undefined) hurry.abort();
    ending ??= drain(graceMs).finally(() => {
      stopListening?.();
      if (unusable === undefined) hasStopped.resolve();
      else hasStopped.reject(unusable);
    });
    return ending;
  };
  const stopListening = options.signals === false ? undefined : onStopSignals(SIGNALS, () => void stop());

  // Nothing was received, so no receive count rose.
  const cannotStart = (message: string) => (error: unknown) => {
    if (unusable !== undefined) return;
    unusable = error;
    telemetry.error(`${message}: the worker stops`, error);
    void stop({ graceMs: 0 });
  };
  for (const usable of [options.reachable, reaper?.start()])
    usable?.catch(cannotStart('the table cannot be used'));
  const start = () => {
    polls.consider();
    void declareTypes(parts);
  };
  cells.ready().then(start, cannotStart('the jobs module cannot be loaded'));
  return {
    stop,
    stopped: hasStopped.promise,
    isHealthy: () => !draining.signal.aborted && cells.isReady() && polls.isPolling(),
    get running() {
      return slots.taken;
    },
  };
}
