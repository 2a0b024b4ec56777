import { isMisconfigured } from '../protocol/errors.ts';
import { createEventOutlet } from '../protocol/event-outlet.ts';
import { releaseWakeWrite } from '../protocol/writes/reaper-row-writes.ts';
import { publishLeadership, type ReapDeps, reap } from './reap.ts';

export type EmbeddedReaper = ReturnType<typeof createEmbeddedReaper>;

const PAUSE_MS = 1000;
/** Longer than any sweep takes. */
const LOOK_MS = 110_000;
/** A timer may fire this early by the wall clock, while the lease is still live. */
const TIMER_SLACK_MS = 20;

/** Sweeps while its long-lived process runs; only one of several processes holds the promise. */
export function createEmbeddedReaper(deps: ReapDeps) {
  let running: { readonly stopping: AbortController; readonly done: Promise<void> } | undefined;
  return {
    /** Resolves once stopped; rejects if the first sweep finds no region, no credentials or no table. */
    start(): Promise<void> {
      const stopping = new AbortController();
      running ??= { stopping, done: reapUntil(stopping.signal, deps) };
      return running.done;
    },
    /** Resolves when no timer is left and the promise is released. */
    async stop(): Promise<void> {
      running?.stopping.abort();
      await running?.done.catch(() => {});
      running = undefined;
    },
  };
}

async function reapUntil(signal: AbortSignal, deps: ReapDeps): Promise<void> {
  const { table, clock, name, telemetry } = deps;
  const outlet = createEventOutlet(deps);
  let term: number | undefined;
  let hasLooked = false;
  while (!signal.aborted) {
    let nextAt = clock.now() + PAUSE_MS;
    try {
      const result = await reap(deps, { kind: 'timer', name }, { deadlineAt: clock.now() + LOOK_MS, signal });
      hasLooked = true;
      if (result.ended === 'disabled') return;
      if (result.ended !== 'unsound') {
        if (term !== undefined && result.term === undefined) publishLeadership(deps, outlet, 'lost', term);
        term = result.term;
      }
      nextAt = result.nextAt ?? nextAt;
    } catch (error) {
      if (!hasLooked && isMisconfigured(error)) throw error;
      telemetry.error('reaper failed; it starts again', error);
    }
    await sleepUntil(nextAt, deps, signal);
  }
  if (term !== undefined)
    try {
      await table.apply(releaseWakeWrite(name));
      publishLeadership(deps, outlet, 'released', term);
    } catch (error) {
      telemetry.error('the next sweep was not released; another reaper waits until it is late', error);
    }
  await outlet.settle();
}

async function sleepUntil(at: number, { clock }: ReapDeps, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(Math.max(0, at - clock.now()), signal);
    const early = at - clock.now();
    if (early > 0 && early <= TIMER_SLACK_MS) await clock.sleep(early, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
