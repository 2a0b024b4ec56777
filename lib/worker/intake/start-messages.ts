import type { ReceivedMessage } from '../../protocol/ports.ts';
import { createAlarm } from '../alarm.ts';
import { createGatherer } from '../gatherer.ts';
import type { RunBounds } from '../run/supervise.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { Engine } from './engine.ts';
import { createMessageExits } from './message-exits.ts';
import type { Claimable } from './open-message.ts';
import type { Slots } from './slots.ts';

/** DynamoDB batch limit. */
const MOST_CLAIMS = 25;
/** How long a message with a free slot waits for more. */
const GATHER_MS = 10;
/** Without a slot for this long, a message returns to the queue for other workers. */
const PATIENCE_MS = 1000;

interface Waiting {
  readonly claimable: Claimable;
  readonly since: number;
}

interface TakerOptions {
  readonly parts: WorkerParts;
  readonly engine: Engine;
  readonly slots: Slots;
  readonly bounds: RunBounds;
  readonly isBacklog: () => boolean;
  readonly onRoom: () => void;
}

/** Claims a received job only when a slot can run it at once. */
export function createMessageTaker({ parts, engine, slots, bounds, isBacklog, onRoom }: TakerOptions) {
  const { clock, cells, crashThrottle, telemetry } = parts;
  const exits = createMessageExits(parts);
  const draining = new AbortController();
  const opened = new Set<Promise<unknown>>();
  const waiting: Waiting[] = [];
  let opening = 0;
  const patience = createAlarm(clock, () => claimMore());

  const mayClaim = (): boolean =>
    !draining.signal.aborted && cells.isReady() && crashThrottle.hostPausedMs() === 0;

  const giveUp = (some: readonly Waiting[]): void => {
    const messages = some.map(({ claimable }) => claimable.message);
    exits.return(messages, 0);
  };

  const giveUpOverdue = (): void => {
    if (waiting.length === 0) return;
    const now = clock.monotonic();
    const overdue = waiting.findIndex(({ since }) => now - since < PATIENCE_MS);
    giveUp(waiting.splice(0, overdue === -1 ? waiting.length : overdue));
    if (waiting.length > 0) patience.within(PATIENCE_MS);
  };

  /** Counted because such a message comes again and again. */
  const refuse = (message: ReceivedMessage, { delaySeconds }: { readonly delaySeconds: number }): void => {
    telemetry.count('MessagesReturned');
    exits.return([message], delaySeconds);
  };

  const claim = async (count: number): Promise<void> => {
    if (!mayClaim()) return giveUp(waiting.splice(0));
    slots.take(count);
    const claimables = waiting.splice(0, count).map(({ claimable }) => claimable);
    const verdicts = await engine.claim(claimables);
    const done: ReceivedMessage[] = [];
    for (const [i, { message }] of claimables.entries()) {
      const verdict = verdicts[i];
      if (verdict?.kind === 'returned') refuse(message, verdict);
      else done.push(message);
      if (verdict?.kind === 'claimed') slots.run((returned) => engine.run(verdict, bounds, returned));
      else slots.unclaimed();
    }
    exits.delete(done);
  };

  const claims = createGatherer({
    clock,
    full: Math.min(MOST_CLAIMS, slots.limit),
    ready: () => Math.min(slots.free(), waiting.length),
    waitMs: (ageMs) => (opening > 0 || isBacklog() ? GATHER_MS - ageMs : 0),
    send: claim,
  });

  const claimMore = (): void => {
    if (!mayClaim()) giveUp(waiting.splice(0));
    claims.look();
    if (slots.free() === 0) giveUpOverdue();
  };

  const open = async (message: ReceivedMessage): Promise<void> => {
    opening += 1;
    const result = await engine.open(message);
    opening -= 1;
    if (result.kind === 'settled') exits.delete([message]);
    if (result.kind === 'returned') refuse(message, result);
    if (result.kind !== 'claimable') return onRoom();
    waiting.push({ claimable: result, since: clock.monotonic() });
    claimMore();
  };

  return {
    claimMore,
    inHand: (): number => opening + waiting.length,
    take(messages: readonly ReceivedMessage[]): void {
      if (draining.signal.aborted) exits.return(messages, 0);
      else
        for (const message of messages) {
          const opens = open(message).finally(() => opened.delete(opens));
          opened.add(opens);
        }
    },
    async drain(): Promise<void> {
      draining.abort('draining');
      patience.stop();
      claimMore();
      while (opened.size > 0) await Promise.allSettled(opened);
      await claims.quiet();
    },
    settle: exits.settle,
  };
}
