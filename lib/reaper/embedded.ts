import { type WatchDeps, watch } from './watch.ts';

/** A reaper inside a long-lived process. */
export interface EmbeddedReaper {
  start(): void;
  /** Resolves when no timer is left and the lead is given up. */
  stop(): Promise<void>;
}

/**
 * Does in a process what the schedule does with the deployed function: starts a watch every `reaperIntervalMs`, or as soon
 * as the last one is over if that took longer. Any number of processes may do so; one of them leads.
 */
export function createEmbeddedReaper(deps: WatchDeps): EmbeddedReaper {
  const { clock, settings, telemetry } = deps;
  let running: { readonly stopping: AbortController; readonly done: Promise<void> } | undefined;

  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const begunAt = clock.monotonic();
      try {
        const { ended } = await watch(deps, { deadlineAt: clock.now() + settings.watchMs, signal });
        if (ended === 'disabled') return;
      } catch (error) {
        telemetry.error('reaper failed; it starts again', error);
      }
      const pause = settings.reaperIntervalMs - (clock.monotonic() - begunAt);
      if (pause > 0 && !signal.aborted) await clock.sleep(pause, signal).catch(() => {});
    }
  };

  return {
    start() {
      if (running !== undefined) return;
      const stopping = new AbortController();
      running = { stopping, done: run(stopping.signal) };
    },
    async stop() {
      running?.stopping.abort();
      await running?.done;
      running = undefined;
    },
  };
}
