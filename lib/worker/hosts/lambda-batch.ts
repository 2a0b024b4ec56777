import type { ReceivedMessage } from '../../protocol/ports.ts';
import { ShuttingDown } from '../abort-reasons.ts';
import type { Origin } from '../cells/cells.ts';
import { createEngine } from '../intake/engine.ts';
import { createMessageExits } from '../intake/message-exits.ts';
import { backoffSeconds } from '../intake/open-message.ts';
import type { RunBounds } from '../run/supervise.ts';
import type { WorkerParts } from '../worker-parts.ts';

const LAST_MOMENT_MS = 500;

type Messages = readonly ReceivedMessage[];

/** Returns the messages that SQS must deliver again. */
export function createBatchRunner(parts: WorkerParts) {
  const { clock, settings, telemetry, heart, cells } = parts;
  const { deadlineMarginMs, batchConcurrency } = settings;
  const engine = createEngine(parts);
  const exits = createMessageExits(parts);

  return async (messages: Messages, remainingMs: () => number, origin: Origin = {}): Promise<Messages> => {
    const over = new AbortController();
    const until = (marginMs: number) => clock.sleep(Math.max(0, remainingMs() - marginMs), over.signal);
    const stoppingFor = (why: 'deadline' | 'shutdown'): RunBounds => {
      const stopping = new AbortController();
      until(deadlineMarginMs).then(
        () => stopping.abort(new ShuttingDown(why)),
        () => {},
      );
      return { stopping: stopping.signal, releaseWithinMs: deadlineMarginMs / 2, origin };
    };
    // Only jobs that had the whole invocation are charged for its deadline.
    const firstStart = stoppingFor('deadline');
    const lateStart = stoppingFor('shutdown');
    const open = new Set(messages);
    const waiting = [...messages];

    const run = async (message: ReceivedMessage, bounds: RunBounds): Promise<void> => {
      const opened = await engine.open(message);
      const [next] = opened.kind === 'claimable' ? await engine.claim([opened]) : [opened];
      if (next === undefined || next.kind === 'returned')
        // Lambda keeps receiving through an outage, and each delivery counts.
        return exits.return([message], Math.max(next?.delaySeconds ?? 0, backoffSeconds(message)));
      open.delete(message);
      if (next.kind === 'claimed') await engine.run(next, bounds);
    };
    const lane = async (): Promise<void> => {
      // Later jobs need time to make progress before their release.
      for (
        let bounds = firstStart;
        remainingMs() > deadlineMarginMs * (bounds === firstStart ? 1 : 2);
        bounds = lateStart
      ) {
        const message = waiting.shift();
        if (message === undefined) return;
        await run(message, bounds);
      }
    };
    const runAll = async (): Promise<void> => {
      await Promise.all(Array.from({ length: Math.min(batchConcurrency, messages.length) }, lane));
      exits.return(waiting, 0);
      // Lambda may freeze the process next, which would delay a kill until the next job.
      await Promise.all([exits.settle(), heart.quiet(), engine.quiet(), cells.quiet()]);
    };

    // Handlers that ignore their signal have half of the margin.
    const lastMoment = until(Math.min(LAST_MOMENT_MS, deadlineMarginMs / 4)).catch(() => {});
    await Promise.race([runAll(), lastMoment]).finally(() => over.abort());
    if (open.size > 0) telemetry.count('MessagesReturned', open.size);
    return [...open];
  };
}
