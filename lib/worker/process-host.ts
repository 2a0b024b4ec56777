import type { ReceivedMessage } from '../jobs/ports.ts';
import { ShuttingDown } from './abort-reasons.ts';
import { type Claimable, createEngine } from './engine.ts';
import type { ClaimedJob } from './run-claim.ts';
import { createSlots } from './slots.ts';
import type { WorkerParts } from './worker-parts.ts';

/** A reaper that lives in the worker's process. */
export interface EmbeddedReaper {
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
  /** Stops receiving, lets jobs finish for a while, and hands back those that have not. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
  /** Resolves when the worker has stopped, for whatever reason. */
  readonly stopped: Promise<void>;
  /** Jobs that run now. */
  readonly running: number;
}

/** SQS hands out at most this many messages at a time, and waits at most this long for the first. */
const MAX_MESSAGES = 10;
const POLL_SECONDS = 20;
/** How long a free slot waits for others to come free, so that messages are received and claimed together. */
const GATHER_MS = 10;
const FLUSH_MS = 10_000;
/** How long the first poll waits for the heart, so that no job is claimed that nobody keeps alive. */
const READY_MS = 5000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/** Runs jobs in this process until it is stopped. */
export function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  const { parts, reaper, flush } = options;
  const { settings, clock, queue, telemetry, heart } = parts;
  const engine = createEngine(parts);
  const slots = createSlots(clock);
  const draining = new AbortController();
  const polling = new AbortController();
  const handingBack = new AbortController();
  const bounds = { stopping: handingBack.signal, handBackMs: settings.deadlineMarginMs / 2 };
  /** After a job that has killed a worker, messages are taken one by one until a harmless one comes. */
  let cautious = false;

  const giveBack = (messages: readonly ReceivedMessage[], seconds: number) =>
    bestEffort('messages not given back', messages, () => queue.changeVisibility(messages, seconds));
  const drop = (messages: readonly ReceivedMessage[]) =>
    bestEffort('messages not deleted', messages, () => queue.delete(messages));
  const bestEffort = async (
    failure: string,
    messages: readonly ReceivedMessage[],
    act: () => Promise<void>,
  ) => {
    if (messages.length === 0) return;
    await act().catch((error: unknown) => telemetry.error(failure, error, { count: messages.length }));
  };

  const receive = async (): Promise<readonly ReceivedMessage[]> => {
    await slots.room(
      settings.processConcurrency,
      Math.min(MAX_MESSAGES, settings.processConcurrency),
      GATHER_MS,
    );
    const max = cautious ? 1 : Math.min(MAX_MESSAGES, settings.processConcurrency - slots.taken);
    return draining.signal.aborted
      ? []
      : queue.receive({ max, waitSeconds: POLL_SECONDS, signal: polling.signal });
  };

  /** Opens, claims and starts what was received together. */
  const take = async (messages: readonly ReceivedMessage[]): Promise<void> => {
    const opened = await Promise.all(messages.map((message) => engine.open(message)));
    const claimables = opened.filter((each) => each.kind === 'claimable');
    const claimed = await engine.claim(claimables);
    const verdicts = new Map(claimables.map((each, i) => [each.message, claimed[i]] as const));
    const ended: ReceivedMessage[] = [];
    const suspects: { readonly claimable: Claimable; readonly claimed: ClaimedJob }[] = [];
    for (const [i, message] of messages.entries()) {
      const first = opened[i];
      const verdict = verdicts.get(message) ?? first;
      if (verdict?.kind === 'returned') void giveBack([message], verdict.delaySeconds);
      else if (verdict?.kind === 'claimed' && verdict.job.crashes > 0 && first?.kind === 'claimable')
        suspects.push({ claimable: first, claimed: verdict });
      else {
        ended.push(message);
        if (verdict?.kind === 'claimed') start(verdict);
      }
    }
    void drop(ended);
    cautious = suspects.length > 0 || (cautious && claimables.length === 0);
    if (suspects.length > 0) await runSuspects(suspects);
  };

  const start = (claimed: ClaimedJob) => slots.run(() => engine.run(claimed, bounds));

  /**
   * A job with crashes runs alone, so that it cannot take others down with it. And no claim waits for its turn: should
   * the process die meanwhile, that would be charged as one more crash to a job that never ran. So all but the first are
   * put back and their messages returned, and the first waits unclaimed, with its message in hand, until nothing runs.
   */
  const runSuspects = async (
    suspects: readonly { readonly claimable: Claimable; readonly claimed: ClaimedJob }[],
  ): Promise<void> => {
    const [first, ...others] = suspects;
    if (first === undefined) return;
    const { message } = first.claimable;
    if (others.length === 0 && slots.taken === 0) {
      void drop([message]);
      return runAlone(first.claimed);
    }
    await Promise.all(suspects.map(({ claimed }) => engine.putBack(claimed)));
    void giveBack(
      others.map(({ claimable }) => claimable.message),
      0,
    );
    if (!(await slots.empty(patienceFor(message), draining.signal)))
      return giveBack([message], draining.signal.aborted ? 0 : Math.ceil(settings.dispatchLeaseMs / 1000));
    const [again] = await engine.claim([first.claimable]);
    if (again?.kind === 'returned') return giveBack([message], again.delaySeconds);
    void drop([message]);
    if (again?.kind === 'claimed') await runAlone(again);
  };

  /** Nothing is received meanwhile. */
  const runAlone = async (claimed: ClaimedJob): Promise<void> => {
    start(claimed);
    await slots.empty(Number.POSITIVE_INFINITY);
  };

  /** A busy process holds its other slots free for a suspect only so long; longer each time that it comes back. */
  const patienceFor = ({ receiveCount }: ReceivedMessage): number =>
    Math.min(settings.dispatchLeaseMs * 2 ** (receiveCount - 1), settings.visibilityTimeoutMs / 2);

  const work = async (): Promise<void> => {
    let pause = FIRST_PAUSE_MS;
    const waiting = new AbortController();
    const longEnough = clock
      .sleep(READY_MS, AbortSignal.any([waiting.signal, draining.signal]))
      .catch(() => {});
    await Promise.race([heart.ready(), longEnough]);
    waiting.abort();
    while (!draining.signal.aborted) {
      try {
        const messages = await receive();
        if (draining.signal.aborted) await giveBack(messages, 0);
        else if (messages.length > 0) await take(messages);
        pause = FIRST_PAUSE_MS;
      } catch (error) {
        if (draining.signal.aborted) return;
        telemetry.error('the queue could not be read', error, { pauseMs: pause });
        await clock.sleep(pause, draining.signal).catch(() => {});
        pause = Math.min(LONGEST_PAUSE_MS, pause * 2);
      }
    }
  };

  const drain = async (graceMs: number): Promise<void> => {
    draining.abort();
    telemetry.info('worker drains', { running: slots.taken });
    if (!(await slots.empty(graceMs, hurry.signal))) handingBack.abort(new ShuttingDown('shutdown'));
    await slots.empty(Number.POSITIVE_INFINITY);
    // Only now: a poll that is cut off may have been given messages, which would stay hidden for long.
    polling.abort();
    await working;
    await reaper?.stop();
    await heart.quiet();
    clearInterval(flushing);
    flush?.();
  };

  const hurry = new AbortController();
  let ending: Promise<void> | undefined;
  const flushing = setInterval(() => flush?.(), FLUSH_MS);
  flushing.unref();
  const { promise: stopped, resolve: hasStopped } = Promise.withResolvers<void>();
  const stop = (stopOptions: { readonly graceMs?: number } = {}): Promise<void> => {
    if (ending !== undefined) hurry.abort();
    ending ??= drain(stopOptions.graceMs ?? settings.shutdownGraceMs).finally(() => {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, onSignal);
      hasStopped();
    });
    return ending;
  };
  const onSignal = () => void stop();
  if (options.signals !== false)
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal);

  reaper?.start();
  const working = work();
  return {
    stop,
    stopped,
    get running() {
      return slots.taken;
    },
  };
}
