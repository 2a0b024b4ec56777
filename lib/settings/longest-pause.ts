import { MAX_HINT_DELAY_MS } from '../wire/queues.ts';
import type { Settings } from './settings.ts';

/** A claim that a sweep did not see cannot lapse sooner than this. */
export const longestPauseMs = ({ minLeaseMs, skewMs }: Pick<Settings, 'minLeaseMs' | 'skewMs'>): number =>
  Math.min(minLeaseMs + skewMs, MAX_HINT_DELAY_MS);
