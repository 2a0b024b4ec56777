import { messageLimits } from '../../lib/settings/message-limits.ts';
import { parseMessage } from '../../lib/wire/message.ts';
import { derivedSeed, seededRandom } from '../support/random.ts';
import { simulatedSettings } from './scenario.ts';
import { WORLD_START } from './world.ts';

/** A tick of a schedule, as EventBridge Scheduler delivers it: perhaps twice, perhaps long after its time. */
export interface PlannedTick {
  readonly jobId: string;
  readonly body: string;
  /** Its time is over when it is sent: it must make no job. */
  readonly isLate: boolean;
  readonly sentAfterMs: readonly number[];
}

const LATE_AFTER_MS = 60_000;
/** Further than any clock is off that is still trusted. */
const WELL_LATE_MS = 30_000;

/** One tick in time and one that is late, each delivered once or several times. */
export function planTicks(seed: number, chaosMs: number): readonly PlannedTick[] {
  const random = seededRandom(derivedSeed(seed, 'ticks'));
  const deliveries = (from: number) =>
    Array.from({ length: random.pick([1, 2, 3]) }, () => from + random.integer(0, chaosMs / 2));
  return [false, true].map((isLate): PlannedTick => {
    const first = random.integer(0, chaosMs / 2);
    const at = WORLD_START + first - (isLate ? LATE_AFTER_MS + WELL_LATE_MS : 0);
    const body = JSON.stringify({
      type: 'simulated',
      payload: {},
      // A tick in time stays so for as long as any chaos lasts.
      ...{ schedule: isLate ? 'late' : 'nightly', scheduledAt: new Date(at).toISOString() },
      lateAfterMs: isLate ? LATE_AFTER_MS : 86_400_000,
    });
    const parsed = parseMessage(body, messageLimits(simulatedSettings), { sentAt: at, now: at });
    const jobId = parsed.ok && parsed.message.kind === 'job' ? (parsed.message.jobId ?? '') : '';
    return { jobId, body, isLate, sentAfterMs: deliveries(first) };
  });
}
