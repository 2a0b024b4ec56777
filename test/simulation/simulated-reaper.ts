import type { ReaperDeps } from '../../lib/reaper/deps.ts';
import { watch } from '../../lib/reaper/watch.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import { silentEvents, silentTelemetry } from '../support/silent-ports.ts';
import type { Process } from './world.ts';

export interface ReaperParts extends Pick<ReaperDeps, 'table' | 'store' | 'queue'> {
  readonly settings: Settings;
  /** When its schedule comes round for the first time. */
  readonly firstWatchAfterMs: number;
}

/** Does what the schedule does with the deployed reaper: starts a watch every so often, however the last one ended. */
export async function runReaper(process: Process, parts: ReaperParts): Promise<void> {
  const { clock, name } = process;
  const { settings, firstWatchAfterMs, ...ports } = parts;
  const signal = process.stopping;
  const deps = { ...ports, settings, clock, name, telemetry: silentTelemetry, events: silentEvents };
  if (firstWatchAfterMs > 0) await clock.sleep(firstWatchAfterMs, signal).catch(() => {});
  while (!signal.aborted) {
    const begunAt = clock.monotonic();
    const { ended } = await watch(deps, { deadlineAt: clock.now() + settings.watchMs, signal });
    process.world.note(name, `watch ended: ${ended}`);
    const pause = settings.reaperIntervalMs - (clock.monotonic() - begunAt);
    await clock.sleep(Math.max(0, pause), signal).catch(() => {});
  }
}
