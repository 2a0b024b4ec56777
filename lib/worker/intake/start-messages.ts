import type { ReceivedMessage } from '../../protocol/ports.ts';
import type { ClaimedJob } from '../run/run-claim.ts';
import type { RunBounds } from '../run/supervise.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { Claimable, Engine } from './engine.ts';
import type { Slots } from './slots.ts';

export interface MessageTaker {
  /** Opens, claims and starts what was received together; resolves when more can be received. */
  take(messages: readonly ReceivedMessage[]): Promise<void>;
  /** Returns messages to the queue. */
  returnMessages(messages: readonly ReceivedMessage[], seconds: number): Promise<void>;
  /** After a job that has killed a worker, messages are to be received one by one until a harmless one comes. */
  isCautious(): boolean;
}

interface Suspect {
  readonly claimable: Claimable;
  readonly claimed: ClaimedJob;
}

/** What a process does with the messages that it received. */
export function createMessageTaker(options: {
  readonly parts: WorkerParts;
  readonly engine: Engine;
  readonly slots: Slots;
  readonly bounds: RunBounds;
  /** Fires when the process takes no more jobs. */
  readonly draining: AbortSignal;
}): MessageTaker {
  const { engine, slots, bounds, draining } = options;
  const { settings, queue, telemetry } = options.parts;
  let cautious = false;

  const bestEffort = async (
    failure: string,
    messages: readonly ReceivedMessage[],
    act: () => Promise<void>,
  ): Promise<void> => {
    if (messages.length === 0) return;
    await act().catch((error: unknown) => telemetry.error(failure, error, { count: messages.length }));
  };
  const returnMessages = (messages: readonly ReceivedMessage[], seconds: number) =>
    bestEffort('messages not returned', messages, () => queue.changeVisibility(messages, seconds));
  const drop = (messages: readonly ReceivedMessage[]) =>
    bestEffort('messages not deleted', messages, () => queue.delete(messages));
  const start = (claimed: ClaimedJob) => slots.run(() => engine.run(claimed, bounds));

  /** Nothing is received meanwhile. */
  const runAlone = async (claimed: ClaimedJob): Promise<void> => {
    start(claimed);
    await slots.empty(Number.POSITIVE_INFINITY);
  };

  /** A busy process holds its other slots free for a suspect only so long; longer each time that it comes back. */
  const patienceFor = ({ receiveCount }: ReceivedMessage): number =>
    Math.min(settings.dispatchLeaseMs * 2 ** (receiveCount - 1), settings.visibilityTimeoutMs / 2);

  /**
   * A job with crashes runs alone, so that it cannot take others down with it. And no claim waits for its turn: should
   * the process die meanwhile, that would be charged as one more crash to a job that never ran. So all but the first are
   * released and their messages returned, and the first waits unclaimed, with its message in hand, until nothing runs.
   */
  const runSuspects = async (suspects: readonly Suspect[]): Promise<void> => {
    const [first, ...others] = suspects;
    if (first === undefined) return;
    const { message } = first.claimable;
    if (others.length === 0 && slots.taken === 0) {
      void drop([message]);
      return runAlone(first.claimed);
    }
    await Promise.all(suspects.map(({ claimed }) => engine.releaseUnstarted(claimed)));
    void returnMessages(
      others.map(({ claimable }) => claimable.message),
      0,
    );
    if (!(await slots.empty(patienceFor(message), draining)))
      return returnMessages([message], draining.aborted ? 0 : Math.ceil(settings.dispatchLeaseMs / 1000));
    const [again] = await engine.claim([first.claimable]);
    if (again?.kind === 'returned') return returnMessages([message], again.delaySeconds);
    void drop([message]);
    if (again?.kind === 'claimed') await runAlone(again);
  };

  return {
    returnMessages,
    isCautious: () => cautious,
    async take(messages) {
      const opened = await Promise.all(messages.map((message) => engine.open(message)));
      const claimables = opened.filter((each) => each.kind === 'claimable');
      const claimed = await engine.claim(claimables);
      const verdicts = new Map(claimables.map((each, i) => [each, claimed[i]] as const));
      const ended: ReceivedMessage[] = [];
      const suspects: Suspect[] = [];
      for (const [i, message] of messages.entries()) {
        const first = opened[i];
        const verdict = first?.kind === 'claimable' ? verdicts.get(first) : first;
        if (verdict?.kind === 'returned') void returnMessages([message], verdict.delaySeconds);
        else if (verdict?.kind === 'claimed' && verdict.job.crashes > 0 && first?.kind === 'claimable')
          suspects.push({ claimable: first, claimed: verdict });
        else {
          ended.push(message);
          if (verdict?.kind === 'claimed') start(verdict);
        }
      }
      void drop(ended);
      cautious = suspects.length > 0 || (cautious && claimables.length === 0);
      await runSuspects(suspects);
    },
  };
}
