import type { ReceivedMessage } from '../../protocol/ports.ts';
import type { EmbeddedReaper } from '../../reaper/embedded.ts';
import { ShuttingDown } from '../abort-reasons.ts';
import { createEngine } from '../intake/engine.ts';
import { createSlots, type Slots } from '../intake/slots.ts';
import { createMessageTaker, type MessageTaker } from '../intake/start-messages.ts';
import { gatherCompletions } from '../run/gather-completions.ts';
import type { WorkerParts } from '../worker-parts.ts';

/** What a worker process is made of. */
export interface WorkerProcessOptions {
  readonly parts: WorkerParts;
  readonly reaper?: EmbeddedReaper;
  /** Writes gathered metrics out; called now and then, and at the end. */
  readonly flush?: () => void;
  /** Whether SIGTERM and SIGINT drain the worker; a second one hands running jobs back at once. @default true */
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

/** SQS hands out at most this many messages at a time, and waits at most this long for the first. */
const MAX_MESSAGES = 10;
const LONGEST_POLL_MS = 20_000;
/** How long a free slot waits for others to come free, so that messages are received and claimed together. */
const GATHER_MS = 10;
/** How often a host that may not take jobs looks whether it may again. */
const HELD_UP_MS = 250;
const FLUSH_MS = 10_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Runs jobs in this process until it is stopped. */
export function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  const { parts, reaper, flush } = options;
  const { settings, clock, telemetry, heart, cells } = parts;
  const slots = createSlots(clock);
  const limit = settings.processConcurrency;
  const draining = new AbortController();
  const releasing = new AbortController();
  const hurry = new AbortController();
  const engine = createEngine(limit > 1 ? { ...parts, store: gatherCompletions(parts.store, clock) } : parts);
  const taker = createMessageTaker({
    ...{ parts, slots, engine },
    bounds: { stopping: releasing.signal, releaseWithinMs: settings.deadlineMarginMs / 2 },
  });
  const hasStopped = Promise.withResolvers<void>();
  let unloadable: unknown;
  const flushing = flush && setInterval(flush, FLUSH_MS);
  flushing?.unref();

  const drain = async (graceMs: number): Promise<void> => {
    draining.abort();
    cells.drain();
    telemetry.info('worker drains', { running: slots.taken });
    await slots.empty(graceMs, hurry.signal);
    // The last poll gets to its end first: one that is cut off can still be given messages, the jobs' own hints among
    // them, and those would stay hidden for the whole visibility timeout.
    await receiver.lastPoll();
    releasing.abort(new ShuttingDown('shutdown'));
    // In this order: what was being claimed all the while is started, and then released like the others.
    await receiving;
    await slots.empty(Number.POSITIVE_INFINITY);
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
      for (const signal of SIGNALS) process.off(signal, onSignal);
      if (unloadable === undefined) hasStopped.resolve();
      else hasStopped.reject(unloadable);
    });
    return ending;
  };
  const onSignal = () => void stop();
  if (options.signals !== false) for (const signal of SIGNALS) process.on(signal, onSignal);

  reaper?.start();
  const receiver = createReceiver({ parts, slots, taker, draining: draining.signal, hurry: hurry.signal });
  const stopsEarly = new Promise<void>((resolve) =>
    draining.signal.addEventListener('abort', () => resolve()),
  );
  const receiving = Promise.race([cells.ready(), stopsEarly]).then(
    () => receiver.run(),
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
    isHealthy: () => !draining.signal.aborted && cells.isReady() && receiver.isPolling(),
    get running() {
      return slots.taken;
    },
  };
}

/** Polls for messages and has them taken. */
function createReceiver(options: {
  readonly parts: WorkerParts;
  readonly slots: Slots;
  readonly taker: MessageTaker;
  readonly draining: AbortSignal;
  /** Cuts a poll off. */
  readonly hurry: AbortSignal;
}) {
  const { parts, slots, taker, draining, hurry } = options;
  const { settings, clock, queue, telemetry, cells, brake, clockCheck } = parts;
  let poll: Promise<readonly ReceivedMessage[]> = Promise.resolve([]);
  const limit = settings.processConcurrency;
  // Short enough that a poll ends well within the grace of a stop.
  const waitSeconds = Math.ceil(Math.min(LONGEST_POLL_MS, settings.shutdownGraceMs / 2 + 1) / 1000);

  let isPolling = false;
  const mayTake = async (): Promise<boolean> =>
    cells.isReady() && brake.holdsHostMs() === 0 && (await clockCheck.isSound());

  const receive = async (): Promise<readonly ReceivedMessage[]> => {
    await slots.room(limit, Math.min(MAX_MESSAGES, limit), GATHER_MS);
    // Nothing is received that could not be run: each delivery counts.
    while (!draining.aborted && !(await mayTake())) {
      isPolling = false;
      await clock.sleep(HELD_UP_MS, draining).catch(() => {});
    }
    if (draining.aborted) return [];
    isPolling = true;
    poll = queue.receive({ max: Math.min(MAX_MESSAGES, limit - slots.taken), waitSeconds, signal: hurry });
    return poll;
  };

  return {
    isPolling: () => isPolling,
    /** Resolves when no poll is under way. */
    async lastPoll(): Promise<void> {
      await poll.catch(() => {});
    },
    /** Goes on until the worker drains; what a last poll brings goes back at once. */
    async run(): Promise<void> {
      for (let pause = FIRST_PAUSE_MS; !draining.aborted; ) {
        try {
          const messages = await receive();
          if (draining.aborted) await taker.returnMessages(messages, 0);
          else if (messages.length > 0) await taker.take(messages);
          pause = FIRST_PAUSE_MS;
        } catch (error) {
          if (draining.aborted) return;
          isPolling = false;
          telemetry.error('the queue could not be read', error, { pauseMs: pause });
          await clock.sleep(pause, draining).catch(() => {});
          pause = Math.min(LONGEST_PAUSE_MS, pause * 2);
        }
      }
    },
  };
}
