import { type AbortReason, Cancelled, LeaseLost, ShuttingDown, TimedOut } from '../abort-reasons.ts';

/** From 1; used only between a host and its cells. */
const reasons: readonly ((limitMs: number) => AbortReason)[] = [
  () => new LeaseLost('refused'),
  () => new LeaseLost('ended'),
  () => new LeaseLost('lapsed'),
  () => new Cancelled(),
  (limitMs) => new TimedOut('overrun', limitMs),
  (limitMs) => new TimedOut('silent', limitMs),
  () => new ShuttingDown('deadline'),
  () => new ShuttingDown('shutdown'),
];

/** Do not start; ignored by running handlers. */
export const WITHDRAWN = -1;

export const limitOf = (reason: AbortReason): number => (reason instanceof TimedOut ? reason.limitMs : 0);

/** Their texts all differ. */
export const stopNumberOf = (reason: AbortReason): number =>
  1 + reasons.findIndex((make) => make(limitOf(reason)).message === reason.message);

export const numberedReason = (number: number, limitMs: number): AbortReason =>
  reasons[number - 1]?.(limitMs) ?? new LeaseLost('ended');
