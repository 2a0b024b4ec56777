import type { ReaperRow } from '../protocol/store/reaper-row.ts';
import { longestWaitAfterOutage } from '../settings/lease-length.ts';
import type { Settings } from '../settings/settings.ts';
import { MAX_HINT_DELAY_MS } from '../wire/queues.ts';
import type { SweepResult } from './sweep.ts';
import { changes } from './sweep-counts.ts';

/** What starts a reaper that ends after its sweep: the schedule, or a message of the reaper before. */
export type Occasion =
  | { readonly kind: 'tick' }
  /** Several messages may come in one batch; the one that counts is named on the row. */
  | { readonly kind: 'wake'; readonly tokens: readonly string[] };

type LookSettings = WakeSettings & Pick<Settings, 'leaseMs' | 'graceMs'>;
type WakeSettings = Pick<Settings, 'minLeaseMs' | 'skewMs' | 'minSweepIntervalMs' | 'timeScale'>;

/** A lapse so near is waited for: a message takes about as long. */
const NEAR_MS = 2000;
/** A promise that is so late is broken. SQS delivers within half a second, and the sweep itself says when it takes longer. */
const LATE_MS = 5000;
const HUNG_MS = 1000;
/** A sweep that could move nothing is not repeated sooner. */
const PAUSE_AFTER_TROUBLE_MS = 5000;

/** The longest from one look to the next: a claim that the look did not see cannot lapse sooner than this. */
const longestPause = ({ minLeaseMs, skewMs }: WakeSettings): number =>
  Math.min(minLeaseMs + skewMs, MAX_HINT_DELAY_MS);

/** Whether the promised sweep did not happen: whatever lapsed meanwhile waited for the reaper, not for its worker. */
export const isMissed = (
  promisedAt: number | undefined,
  now: number,
  { timeScale }: Pick<Settings, 'timeScale'>,
): boolean => promisedAt !== undefined && promisedAt > 0 && now > promisedAt + LATE_MS / timeScale;

/** Whether a request was swallowed on its way: DynamoDB answers within milliseconds, and a client asks again after two seconds. */
export const hasHung = (ms: number): boolean => ms > HUNG_MS;

/** Whether this reaper has to see to the next one. A tick leaves a chain alone that is as it should be. */
export function mustArm(
  row: Pick<ReaperRow, 'wake' | 'wakeAt'>,
  occasion: Occasion,
  now: number,
  settings: WakeSettings,
): boolean {
  if (occasion.kind === 'wake') return true;
  if (row.wake === undefined || row.wakeAt === undefined) return true;
  const tooFar = row.wakeAt > now + longestPause(settings) + LATE_MS / settings.timeScale;
  return tooFar || isMissed(row.wakeAt, now, settings);
}

/** When the same invocation looks again; undefined when it is done. One that was late waits for what ended meanwhile: only it knows. */
export function lookAgainAt(
  result: SweepResult,
  { begunAt, now, lateUntil }: { readonly begunAt: number; readonly now: number; readonly lateUntil: number },
  settings: LookSettings,
): number | undefined {
  const notBefore = begunAt + settings.minSweepIntervalMs;
  if (result.skipped.heldBack > 0) return notBefore;
  const { nextLapseAt } = result;
  const { leaseMs, skewMs, graceMs, timeScale } = settings;
  const lateLapsesUntil = lateUntil + longestWaitAfterOutage(leaseMs) + skewMs + graceMs;
  if (nextLapseAt === undefined || nextLapseAt > Math.max(now + NEAR_MS / timeScale, lateLapsesUntil))
    return undefined;
  return Math.max(notBefore, nextLapseAt);
}

/**
 * When the next sweep must begin: as the soonest lease that the last look saw lapses, or as one could that it did not see.
 * Pending jobs do not count: ticks see to them.
 */
export function planWake(
  result: SweepResult,
  { begunAt, now }: { readonly begunAt: number; readonly now: number },
  settings: WakeSettings,
): number {
  const { complete, inTrouble, nextLapseAt, lookedAt } = result;
  const soonest = Math.min(nextLapseAt ?? Number.POSITIVE_INFINITY, lookedAt + longestPause(settings));
  const notBefore = Math.max(now, begunAt + settings.minSweepIntervalMs);
  if (complete) return Math.max(notBefore, soonest);
  const isStuck = inTrouble && changes(result) === 0;
  return isStuck ? Math.max(notBefore, now + PAUSE_AFTER_TROUBLE_MS / settings.timeScale) : notBefore;
}

/** SQS delays by whole seconds: late rather than early, because a sweep that comes too early finds the lease live. */
export const wakeDelaySeconds = (wakeAt: number, now: number): number =>
  Math.ceil(Math.min(Math.max(0, wakeAt - now), MAX_HINT_DELAY_MS) / 1000);
