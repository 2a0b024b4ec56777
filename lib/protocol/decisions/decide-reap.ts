import type { Settings } from '../../settings/settings.ts';
import { LEASE_EXPIRED, type LeaseEntry, type RunningEntry } from '../job.ts';
import { type Dispatch, type DispatchSettings, planDispatch, planRedispatch } from './dispatch.ts';

export type ReapVerdict =
  | { readonly kind: 'leave'; readonly lapsesAt: number }
  | {
      readonly kind: 'reclaim';
      readonly lapses: number;
      readonly lastError: string;
      readonly dispatch: Dispatch;
    }
  | { readonly kind: 'quarantine'; readonly lapses: number; readonly lastError: string }
  | { readonly kind: 'redispatch'; readonly dispatch: Dispatch }
  | { readonly kind: 'cancel' };

export type ReapSettings = DispatchSettings & Pick<Settings, 'skewMs' | 'maxLapses'>;

/** A pending job needs no skew: acting on it early sends a hint too many at worst. */
export const lapsesAt = (
  entry: Pick<LeaseEntry, 'status' | 'leaseUntil'>,
  settings: Pick<Settings, 'skewMs'>,
): number => entry.leaseUntil + (entry.status === 'running' ? settings.skewMs : 0);

/** `maxAttempts` is a cap, so that a job with one attempt never reruns after a lapse. */
export const lapseLimit = (
  { maxAttempts = Number.POSITIVE_INFINITY }: Pick<LeaseEntry, 'maxAttempts'>,
  { maxLapses }: Pick<Settings, 'maxLapses'>,
): number => Math.min(maxLapses, maxAttempts);

/** Cap on the wait after the second lapse; doubles with each further lapse. */
const FIRST_WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 15 * 60_000;

/** Spreads jobs that were lost together, so that one that kills its host meets new neighbors. */
function reclaimWaitMs({ lapses: before, leaseMs }: RunningEntry, random: number): number {
  if (before === 0) return 0;
  const longest = Math.min(FIRST_WAIT_MS, 2 * leaseMs) * 2 ** (before - 1);
  return Math.floor(random * Math.min(LONGEST_WAIT_MS, longest));
}

/** Uses the index entry alone; the write checks that the entry is still current. */
export function decideReap(
  entry: LeaseEntry,
  context: {
    readonly now: number;
    readonly random: number;
    readonly settings: ReapSettings;
  },
): ReapVerdict {
  const { now, random, settings } = context;
  const due = lapsesAt(entry, settings);
  if (now < due) return { kind: 'leave', lapsesAt: due };
  if (entry.cancelRequested) return { kind: 'cancel' };
  if (entry.status === 'pending')
    return { kind: 'redispatch', dispatch: planRedispatch(now, entry, settings) };
  const lapses = entry.lapses + 1;
  if (lapses >= lapseLimit(entry, settings)) return { kind: 'quarantine', lapses, lastError: LEASE_EXPIRED };
  return {
    kind: 'reclaim',
    lapses,
    lastError: LEASE_EXPIRED,
    dispatch: planDispatch(now, now + reclaimWaitMs(entry, random), settings),
  };
}
