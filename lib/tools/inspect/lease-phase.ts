import { lapsesAt } from '../../protocol/decisions/decide-reap.ts';
import type { Settings } from '../../settings/settings.ts';

/**
 * How far a worker's lease is: `live` until its end, `ended` while the clock skew and the grace last, and `lapsed` from the
 * moment at which the reaper may reclaim the job.
 */
export type LeasePhase = 'live' | 'ended' | 'lapsed';

export function leasePhase(
  leaseUntil: number,
  now: number,
  settings: Pick<Settings, 'skewMs' | 'graceMs'>,
): LeasePhase {
  if (now < leaseUntil) return 'live';
  return now < lapsesAt({ status: 'running', leaseUntil }, settings) ? 'ended' : 'lapsed';
}
