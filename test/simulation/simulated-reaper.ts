import type { WakeQueue } from '../../lib/protocol/ports.ts';
import type { ReaperDeps } from '../../lib/reaper/deps.ts';
import { createEmbeddedReaper } from '../../lib/reaper/embedded.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import { silentEvents, silentTelemetry } from '../support/silent-ports.ts';
import type { Process } from './world.ts';

export interface ReaperParts extends Pick<ReaperDeps, 'table' | 'store' | 'queue'> {
  readonly settings: Settings;
  /** Where the deployed reaper is there as well. */
  readonly wakeQueue?: WakeQueue;
  /** When it starts to look. */
  readonly firstWatchAfterMs: number;
}

/** A reaper inside a process. */
export async function runReaper(process: Process, parts: ReaperParts): Promise<void> {
  const { clock, name, stopping, random } = process;
  const { settings, firstWatchAfterMs, ...ports } = parts;
  const unique = () => `${name}-${random.unique()}`;
  const deps = {
    ...ports,
    random: { ...random, unique },
    settings,
    clock,
    name,
    telemetry: silentTelemetry,
    events: silentEvents,
  };
  if (firstWatchAfterMs > 0) await clock.sleep(firstWatchAfterMs, stopping).catch(() => {});
  const reaper = createEmbeddedReaper(deps);
  reaper.start();
  await new Promise<void>((resolve) => {
    if (stopping.aborted) resolve();
    else stopping.addEventListener('abort', () => resolve());
  });
  await reaper.stop();
}
