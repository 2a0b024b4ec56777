import type { ReceivedMessage } from '../jobs/ports.ts';
import { ShuttingDown } from './abort-reasons.ts';
import { type Claimable, createEngine } from './engine.ts';
import type { RunBounds } from './supervise.ts';
import type { WorkerParts } from './worker-parts.ts';

/** What SQS is told: the messages that it must deliver again. */
export interface BatchResponse {
  batchItemFailures: { itemIdentifier: string }[];
}

/** Before Lambda cuts the invocation off, whatever is still under way is left to its lease, and SQS is answered. */
const LAST_MOMENT_MS = 500;

/** Runs the jobs of one invocation after another, each within the invocation's time. */
export function createBatchRunner(parts: WorkerParts) {
  const { settings, clock, queue, telemetry, heart } = parts;
  const engine = createEngine(parts);
  const handBackMs = settings.deadlineMarginMs / 2;

  const giveBack = async (messages: readonly ReceivedMessage[], seconds: number) => {
    if (messages.length === 0) return;
    await queue
      .changeVisibility(messages, seconds)
      .catch((error: unknown) =>
        telemetry.error('messages not given back', error, { count: messages.length }),
      );
  };

  return async (messages: readonly ReceivedMessage[], remainingMs: () => number): Promise<BatchResponse> => {
    /** Messages that must come again, unless what they ask for gets into a row. */
    const open = new Set(messages);
    /** Messages that were not started: they go back at once. */
    const unstarted = new Set(messages);
    /** Jobs with crashes, met while others ran: they run alone, afterwards. */
    const suspects: Claimable[] = [];
    const waiting = [...messages];
    const over = new AbortController();
    const deadline = new AbortController();
    const sharedDeadline = new AbortController();
    void clock.sleep(Math.max(0, remainingMs() - settings.deadlineMarginMs), over.signal).then(
      () => {
        deadline.abort(new ShuttingDown('deadline'));
        sharedDeadline.abort(new ShuttingDown('shutdown'));
      },
      () => {},
    );
    // Running out of time is charged only to a job that had the invocation from its start.
    const fresh: RunBounds = { stopping: deadline.signal, handBackMs };
    const belated: RunBounds = { stopping: sharedDeadline.signal, handBackMs };
    const lanes = Math.min(settings.batchConcurrency, messages.length);

    /** A job that is not among the first needs time of its own to get somewhere before it is handed back. */
    const isTimeFor = (bounds: RunBounds) =>
      remainingMs() > settings.deadlineMarginMs * (bounds === fresh ? 1 : 2);

    const claimAndRun = async (claimable: Claimable, bounds: RunBounds, alone: boolean): Promise<void> => {
      const { message } = claimable;
      const [claimed] = await engine.claim([claimable]);
      if (claimed === undefined || claimed.kind === 'returned')
        return giveBack([message], claimed?.delaySeconds ?? 0);
      if (claimed.kind === 'claimed' && claimed.job.crashes > 0 && !alone) {
        await engine.putBack(claimed);
        unstarted.add(message);
        suspects.push(claimable);
        return;
      }
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
        else if (opened.kind === 'returned') await giveBack([message], opened.delaySeconds);
        else await claimAndRun(opened, bounds, lanes === 1);
      }
    };

    const runAll = async () => {
      await Promise.all(Array.from({ length: lanes }, lane));
      for (const suspect of suspects) {
        if (!isTimeFor(belated)) break;
        unstarted.delete(suspect.message);
        await claimAndRun(suspect, belated, true);
      }
      await giveBack([...unstarted], 0);
    };

    await Promise.race([
      runAll(),
      clock.sleep(Math.max(0, remainingMs() - LAST_MOMENT_MS), over.signal).catch(() => {}),
    ]).finally(() => over.abort());
    await heart.quiet();
    return { batchItemFailures: [...open].map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
}
