import { partsOfGroup } from '../../wire/limits.ts';
import type { JobQueue, Telemetry } from '../ports.ts';

/** The second hint goes out before the reservation expires. */
const SECOND_HINT_SECONDS = 45;

/**
 * Two hints for each reserved place, which would stay idle if the only one were lost.
 * A failure is harmless: the next job that finds the group full checks it.
 */
export async function passOn(
  { queue, telemetry }: { readonly queue: Pick<JobQueue, 'sendHints'>; readonly telemetry: Telemetry },
  group: string,
  act: () => Promise<{ readonly reserved: readonly string[] }>,
): Promise<void> {
  try {
    const { reserved } = await act();
    if (reserved.length === 0) return;
    const hints = [0, SECOND_HINT_SECONDS].flatMap((delaySeconds) =>
      reserved.map((jobId) => ({ jobId, ...partsOfGroup(group), delaySeconds })),
    );
    telemetry.count('HintsSent', (await queue.sendHints(hints)).sent);
  } catch (error) {
    telemetry.error('a place was not passed on; the next check of its limit passes it on', error, { group });
  }
}
