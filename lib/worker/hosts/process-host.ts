import type { ReceivedMessage } from '../../protocol/ports.ts';
import { waitAtMost } from '../../protocol/wait-at-most.ts';
import { ShuttingDown } from '../abort-reasons.ts';
import { createEngine } from '../intake/engine.ts';
import { createSlots, type Slots } from '../intake/slots.ts';
import { createMessageTaker, type MessageTaker } from '../intake/start-messages.ts';
import { gatherCompletions } from '../run/gather-completions.ts';
import type { WorkerParts } from '../worker-parts.ts';

/** A reaper that lives in the worker's process. */
interface EmbeddedReaper {
  start(): void;
  stop(): Promise<void>;
}

export interface WorkerProcessOptions {
  readonly parts: WorkerParts;
  readonly reaper?: EmbeddedReaper;
  /** Writes gathered metrics out; called now and then, and at the end. */
  readonly flush?: () => void;
  /** Whether SIGTERM and SIGINT drain the worker; a second one hands running jobs back at once. @default true */
  readonly signals?: boolean;
}

export interface WorkerProcess {
  /** Stops receiving, lets jobs finish for a while, and releases those that have not. A second call does not wait. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
  /** Resolves when the worker has stopped, for whatever reason. */
  readonly stopped: Promise<void>;
  /** Jobs that run now. */
  readonly running: number;
}

/** SQS hands out at most this many messages at a time, and waits at most this long for the first. */
const MAX_MESSAGES = 10;
const LONGEST_POLL_MS = 20_000;
/** How long a free slot waits for others to come free, so that messages are received and claimed together. */
const GATHER_MS = 10;
/** How long the first poll waits for the heart, so that no job is claimed that nobody keeps alive. */
const READY_MS = 5000;
const FLUSH_MS = 10_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Runs jobs in this process until it is stopped. */
export function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  const { parts, reaper, flush } = options;
  const { settings, clock, telemetry, heart } = parts;
  const slots = createSlots(clock);
  const limit = settings.processConcurrency;
  const draining = new AbortController();
  const releasing = new AbortController();
  const hurry = new AbortController();
  const taker = createMessageTaker({
    parts,
    slots,
    engine: createEngine(limit > 1 ? { ...parts, store: gatherCompletions(parts.store, clock) } : parts),
    bounds: { stopping: releasing.signal, releaseWithinMs: settings.deadlineMarginMs / 2 },
    draining: draining.signal,
  });
  const { promise: stopped, resolve: hasStopped } = Promise.withResolvers<void>();
  const flushing = flush && setInterval(flush, FLUSH_MS);
  flushing?.unref();

  const drain = async (graceMs: number): Promise<void> => {
    draining.abort();
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
    await heart.quiet();
    clearInterval(flushing);
    flush?.();
  };

  let ending: Promise<void> | undefined;
  const stop: WorkerProcess['stop'] = ({ graceMs = settings.shutdownGraceMs } = {}) => {
    if (ending !== undefined) hurry.abort();
    ending ??= drain(graceMs).finally(() => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
      hasStopped();
    });
    return ending;
  };
  const onSignal = () => void stop();
  if (options.signals !== false) for (const signal of SIGNALS) process.on(signal, onSignal);

  reaper?.start();
  const receiver = createReceiver({ parts, slots, taker, draining: draining.signal, hurry: hurry.signal });
  const ready = Promise.all([
    waitAtMost(READY_MS, parts.heart.ready(), parts.clock, draining.signal),
    parts.clockCheck.look(),
  ]);
  const receiving = ready.then(() => receiver.run());
  return {
    stop,
    stopped,
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
  const { settings, clock, queue, telemetry } = parts;
  let poll: Promise<readonly ReceivedMessage[]> = Promise.resolve([]);
  const limit = settings.processConcurrency;
  // Short enough that a poll ends well within the grace of a stop.
  const waitSeconds = Math.ceil(Math.min(LONGEST_POLL_MS, settings.shutdownGraceMs / 2 + 1) / 1000);

  const receive = async (): Promise<readonly ReceivedMessage[]> => {
    await slots.room(limit, Math.min(MAX_MESSAGES, limit), GATHER_MS);
    if (draining.aborted) return [];
    const max = taker.isCautious() ? 1 : Math.min(MAX_MESSAGES, limit - slots.taken);
    poll = queue.receive({ max, waitSeconds, signal: hurry });
    return poll;
  };

  return {
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
          telemetry.error('the queue could not be read', error, { pauseMs: pause });
          await clock.sleep(pause, draining).catch(() => {});
          pause = Math.min(LONGEST_PAUSE_MS, pause * 2);
        }
      }
    },
  };
}
