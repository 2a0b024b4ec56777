import type { Clock, ReceivedMessage } from '../../protocol/ports.ts';
import type { Settings } from '../../settings/settings.ts';
import { ShuttingDown } from '../abort-reasons.ts';
import type { Origin } from '../cells/cells.ts';
import { createEngine, type Engine } from '../intake/engine.ts';
import type { Claimable } from '../intake/open-message.ts';
import type { RunBounds } from '../run/supervise.ts';
import type { WorkerParts } from '../worker-parts.ts';

/** What SQS is told: the messages that it must deliver again. */
export interface BatchResponse {
  batchItemFailures: { itemIdentifier: string }[];
}

/** Before Lambda cuts the invocation off, whatever is still under way is left to its lease, and SQS is answered. */
const LAST_MOMENT_MS = 500;
/** A handler that ignores its signal is left behind at half of the margin: its job must be released after that. */
const lastMomentMs = ({ deadlineMarginMs }: Settings) => Math.min(LAST_MOMENT_MS, deadlineMarginMs / 4);

/** Runs the jobs of one invocation after another, each within the invocation's time. */
export function createBatchRunner(parts: WorkerParts) {
  const { clock, settings, heart, cells } = parts;
  const engine = createEngine(parts);

  return async (
    messages: readonly ReceivedMessage[],
    remainingMs: () => number,
    origin: Origin = {},
  ): Promise<BatchResponse> => {
    const over = new AbortController();
    const times = timesOf(settings, clock, remainingMs, over.signal, origin);
    const batch = createBatch(parts, engine, messages, times);
    const lastMoment = clock
      .sleep(Math.max(0, remainingMs() - lastMomentMs(settings)), over.signal)
      .catch(() => {});
    // Nothing may be under way when Lambda freezes this process: a cell that is being ended would thaw inside the next job.
    const ended = batch.run().then(() => Promise.all([heart.quiet(), engine.quiet(), cells.quiet()]));
    await Promise.race([ended, lastMoment]).finally(() => over.abort());
    const returned = batch.open();
    if (returned.length > 0) parts.telemetry.count('MessagesReturned', returned.length);
    return { batchItemFailures: returned.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
}

/** The time of one invocation, as its jobs see it. */
interface Times {
  /** For jobs that have the invocation from its start: running out of it for nothing is charged to them. */
  readonly fresh: RunBounds;
  /** For jobs that come later. */
  readonly belated: RunBounds;
  /** A job that is not among the first needs time of its own to get somewhere before it is released. */
  isTimeFor(bounds: RunBounds): boolean;
}

function timesOf(
  settings: Settings,
  clock: Clock,
  remainingMs: () => number,
  over: AbortSignal,
  origin: Origin,
): Times {
  const { deadlineMarginMs } = settings;
  const own = new AbortController();
  const shared = new AbortController();
  void clock.sleep(Math.max(0, remainingMs() - deadlineMarginMs), over).then(
    () => {
      own.abort(new ShuttingDown('deadline'));
      shared.abort(new ShuttingDown('shutdown'));
    },
    () => {},
  );
  const fresh = { stopping: own.signal, releaseWithinMs: deadlineMarginMs / 2, origin };
  const belated = { stopping: shared.signal, releaseWithinMs: deadlineMarginMs / 2, origin };
  return {
    fresh,
    belated,
    isTimeFor: (bounds) => remainingMs() > deadlineMarginMs * (bounds === fresh ? 1 : 2),
  };
}

function createBatch(
  { settings, queue, telemetry }: WorkerParts,
  engine: Engine,
  messages: readonly ReceivedMessage[],
  { fresh, belated, isTimeFor }: Times,
) {
  /** Messages that must come again, unless what they ask for gets into a row. */
  const open = new Set(messages);
  /** Messages that were not started: they go back at once. */
  const unstarted = new Set(messages);
  const waiting = [...messages];
  const lanes = Math.min(settings.batchConcurrency, messages.length);

  const returnMessages = async (given: readonly ReceivedMessage[], seconds: number): Promise<void> => {
    if (given.length === 0) return;
    await queue
      .changeVisibility(given, seconds)
      .catch((error: unknown) => telemetry.error('messages not returned', error, { count: given.length }));
  };

  const claimAndRun = async (claimable: Claimable, bounds: RunBounds): Promise<void> => {
    const { message } = claimable;
    const [claimed] = await engine.claim([claimable]);
    if (claimed === undefined || claimed.kind === 'returned')
      return returnMessages([message], claimed?.delaySeconds ?? 0);
    open.delete(message);
    if (claimed.kind === 'claimed') await engine.run(claimed, bounds);
  };

  const lane = async (): Promise<void> => {
    for (let bounds = fresh; isTimeFor(bounds); bounds = belated) {
      const message = waiting.shift();
      if (message === undefined) return;
      unstarted.delete(message);
      const opened = await engine.open(message);
      if (opened.kind === 'settled') open.delete(message);
      else if (opened.kind === 'returned') await returnMessages([message], opened.delaySeconds);
      else await claimAndRun(opened, bounds);
    }
  };

  return {
    open: () => [...open],
    async run(): Promise<void> {
      await Promise.all(Array.from({ length: lanes }, lane));
      await returnMessages([...unstarted], 0);
    },
  };
}
