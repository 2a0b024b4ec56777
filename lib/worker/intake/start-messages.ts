import type { ReceivedMessage } from '../../protocol/ports.ts';
import type { RunBounds } from '../run/supervise.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { Engine } from './engine.ts';
import { createMessageExits } from './message-exits.ts';
import type { Claimable } from './open-message.ts';
import type { Slots } from './slots.ts';

export interface MessageTaker {
  /** Opens messages, claims their jobs as slots allow, and starts them. */
  take(messages: readonly ReceivedMessage[]): void;
  /** Messages that were received and are not being claimed yet. */
  inHand(): number;
  /** Slots have come free. */
  claimMore(): void;
  /** Returns what is not claimed yet; from now on nothing is. Resolves when every claim that was under way is started. */
  drain(): Promise<void>;
  /** Resolves when no message is being deleted or returned any more. */
  settle(): Promise<void>;
}

/** DynamoDB takes this many claims in one request. */
const MOST_CLAIMS = 25;
/** How long a message and a slot for it wait for others to be claimed with, while there are more. */
const GATHER_MS = 10;
/** A message for which no slot came free after all goes back, for others to take. */
const PATIENCE_MS = 1000;

interface Waiting {
  readonly claimable: Claimable;
  readonly since: number;
}

/** What a process does with the messages that it received. A job is claimed only when there is a slot for it to run in at once. */
export function createMessageTaker(options: {
  readonly parts: WorkerParts;
  readonly engine: Engine;
  readonly slots: Slots;
  readonly bounds: RunBounds;
  /** Whether more messages are likely to come soon. */
  readonly isBacklog: () => boolean;
  /** Messages have left the hand without taking a slot, or claims came to nothing. */
  readonly onRoom: () => void;
}): MessageTaker {
  const { engine, slots, bounds } = options;
  const { telemetry, clock, cells, brake } = options.parts;
  const exits = createMessageExits(options.parts);
  const full = Math.min(MOST_CLAIMS, slots.limit);
  const underWay = new Set<Promise<unknown>>();
  const waiting: Waiting[] = [];
  let opening = 0;
  /** Since when there has been a slot and a message for it. */
  let possibleSince: number | undefined;
  const draining = new AbortController();
  let wakesAt = Number.POSITIVE_INFINITY;

  const track = <T>(act: Promise<T>): void => {
    const tracked = act.finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  };
  /** Says so: a message that cannot be dealt with comes again and again. */
  const refuse = (message: ReceivedMessage, { delaySeconds }: { readonly delaySeconds: number }): void => {
    telemetry.count('MessagesReturned');
    exits.return([message], delaySeconds);
  };
  const giveUp = (some: readonly Waiting[]): void => {
    if (some.length === 0) return;
    engine.forget(some.map(({ claimable }) => claimable));
    exits.return(
      some.map(({ claimable }) => claimable.message),
      0,
    );
  };

  const open = async (message: ReceivedMessage): Promise<void> => {
    opening += 1;
    const opened = await engine.open(message);
    opening -= 1;
    if (opened.kind === 'settled') exits.delete([message]);
    if (opened.kind === 'returned') refuse(message, opened);
    if (opened.kind !== 'claimable') return options.onRoom();
    waiting.push({ claimable: opened, since: clock.monotonic() });
    claimMore();
  };

  const claim = async (claimables: readonly Claimable[]): Promise<void> => {
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

  /** Looks again when the message that has waited longest has waited for long enough. */
  const wake = async (ms: number): Promise<void> => {
    const at = clock.monotonic() + ms;
    if (at >= wakesAt) return;
    wakesAt = at;
    await clock.sleep(ms, draining.signal).catch(() => {});
    if (wakesAt !== at) return;
    wakesAt = Number.POSITIVE_INFINITY;
    claimMore();
  };

  const giveUpOverdue = (): void => {
    if (waiting.length === 0) return;
    const now = clock.monotonic();
    const overdue = waiting.findIndex(({ since }) => now - since < PATIENCE_MS);
    giveUp(waiting.splice(0, overdue === -1 ? waiting.length : overdue));
    void wake(PATIENCE_MS);
  };

  const mayClaim = (): boolean => !draining.signal.aborted && cells.isReady() && brake.holdsHostMs() === 0;

  const claimMore = (): void => {
    if (waiting.length > 0 && !mayClaim()) giveUp(waiting.splice(0));
    for (;;) {
      const count = Math.min(full, slots.free(), waiting.length);
      if (count === 0) {
        possibleSince = undefined;
        giveUpOverdue();
        return;
      }
      possibleSince ??= clock.monotonic();
      const waitMs = GATHER_MS - (clock.monotonic() - possibleSince);
      if (count < full && waitMs > 0 && (opening > 0 || options.isBacklog())) return void wake(waitMs);
      possibleSince = undefined;
      slots.take(count);
      track(claim(waiting.splice(0, count).map(({ claimable }) => claimable)));
    }
  };

  return {
    claimMore,
    inHand: () => opening + waiting.length,
    take(messages) {
      if (draining.signal.aborted) return exits.return(messages, 0);
      for (const message of messages) track(open(message));
    },
    async drain() {
      draining.abort('draining');
      claimMore();
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
    settle: exits.settle,
  };
}
