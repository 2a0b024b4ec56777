import { lapsesAt } from '../../protocol/decisions/decide-reap.ts';
import type { Settings } from '../../settings/settings.ts';

/** `ended` lasts for the clock skew; from `lapsed` on the reaper may reclaim the job. */
export type LeasePhase = 'live' | 'ended' | 'lapsed';

export function leasePhase(leaseUntil: number, now: number, settings: Pick<Settings, 'skewMs'>): LeasePhase {
  if (now < leaseUntil) return 'live';
  return now < lapsesAt({ status: 'running', leaseUntil }, settings) ? 'ended' : 'lapsed';
}
