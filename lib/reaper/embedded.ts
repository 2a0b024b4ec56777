import { type WatchDeps, type WatchResult, watch } from './watch.ts';

/** A reaper inside a long-lived process. */
export interface EmbeddedReaper {
  start(): void;
  /** Resolves when no timer is left and the lead is given up. */
  stop(): Promise<void>;
}

/** So long one watch lasts: then every row that could not be moved gets another chance, and another process the lead. */
const WATCH_MS = 110_000;
/** After a watch that failed. */
const PAUSE_MS = 1000;

/** Watches for as long as its process runs. Any number of processes may do so; one of them leads. */
export function createEmbeddedReaper(deps: WatchDeps): EmbeddedReaper {
  const { clock, settings, telemetry } = deps;
  let running: { readonly stopping: AbortController; readonly done: Promise<void> } | undefined;

  const run = async (signal: AbortSignal): Promise<void> => {
    let before: WatchResult | undefined;
    while (!signal.aborted) {
      try {
        const deadlineAt = clock.now() + WATCH_MS / settings.timeScale;
        before = await watch(deps, { deadlineAt, signal, before });
        if (before.ended === 'disabled') return;
      } catch (error) {
        telemetry.error('reaper failed; it starts again', error);
        await clock.sleep(PAUSE_MS / settings.timeScale, signal).catch(() => {});
      }
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
