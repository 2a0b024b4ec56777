import type { Clock, Random, Table, Telemetry } from '../../lib/protocol/ports.ts';
import { type ReapDeps, type ReapResult, reap } from '../../lib/reaper/reap.ts';
import type { Trigger } from '../../lib/reaper/wake.ts';
import { REAPER_TIMEOUT_SECONDS } from '../../lib/wire/queues.ts';
import { type ReaperStage, reaperStage } from './reaper-stage.ts';

/** What becomes of one wake message: the delays, in ms beyond its own, after which it is delivered. None loses it. */
export type Delivery = () => readonly number[];

interface Invocation {
  readonly trigger: Trigger;
  readonly at: number;
  readonly done: Promise<ReapResult | Error>;
  result?: ReapResult | Error;
}

/** Lambda and SQS around the chain: invocations, and messages that start them, on a clock driven by hand. */
export interface ReapStage extends Omit<ReaperStage, 'deps'> {
  readonly deps: ReapDeps;
  readonly invocations: readonly Invocation[];
  /** Tokens and delays of the messages sent. */
  readonly sent: readonly { readonly token: string; readonly delaySeconds: number; readonly at: number }[];
  tick(): Promise<ReapResult | Error>;
  wake(...tokens: string[]): Promise<ReapResult | Error>;
  sweeps(): number;
}

const ON_TIME: Delivery = () => [0];

export function reapStage(options: {
  readonly table: Table;
  readonly clock: Clock;
  readonly random?: Random;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly delivery?: Delivery;
  /** Invocations at once; one more is throttled, and its message comes back. */
  readonly concurrency?: number;
  /** For a planted bug: messages are delayed by so many times what was asked for. */
  readonly delayFactor?: number;
  readonly more?: Partial<ReapDeps>;
  readonly telemetry?: Telemetry;
}): ReapStage {
  const { clock, delivery = ON_TIME, concurrency = 10, delayFactor = 1 } = options;
  const stage = reaperStage({ ...options, name: 'reaper/chain' });
  const sent: { token: string; delaySeconds: number; at: number }[] = [];
  const invocations: Invocation[] = [];
  let running = 0;
  let tokens = 0;

  const invoke = (trigger: Trigger): Invocation => {
    running += 1;
    const done = reap(deps, trigger, {
      deadlineAt: clock.now() + REAPER_TIMEOUT_SECONDS * 1000 - 10_000,
    })
      .catch((error: Error) => error)
      .finally(() => {
        running -= 1;
      });
    const invocation: Invocation = { trigger, at: clock.now(), done };
    void done.then((result) => {
      invocation.result = result;
    });
    invocations.push(invocation);
    return invocation;
  };
  const deliver = async (token: string, afterMs: number): Promise<void> => {
    await clock.sleep(afterMs);
    // A throttled or failed invocation leaves its message in the queue, which shows it again.
    const isBusy = running >= concurrency;
    const result = isBusy ? new Error('throttled') : await invoke({ kind: 'wake', tokens: [token] }).done;
    if (result instanceof Error) await deliver(token, REAPER_TIMEOUT_SECONDS * 1000);
  };
  const deps: ReapDeps = {
    ...stage.deps,
    random: { unique: () => `wake-${++tokens}`, next: () => stage.deps.random.next() },
    wakeQueue: {
      async send(token, delaySeconds) {
        sent.push({ token, delaySeconds, at: clock.now() });
        for (const late of delivery()) void deliver(token, delaySeconds * 1000 * delayFactor + late);
      },
    },
    ...options.more,
  };
  return {
    ...stage,
    deps,
    invocations,
    sent,
    tick: () =>
      running >= concurrency ? Promise.resolve(new Error('throttled')) : invoke({ kind: 'tick' }).done,
    wake: (...each) => invoke({ kind: 'wake', tokens: each }).done,
    sweeps: () =>
      invocations.reduce((sum, { result }) => sum + (result && 'sweeps' in result ? result.sweeps : 0), 0),
  };
}
