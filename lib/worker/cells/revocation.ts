import { type AbortReason, Cancelled, LeaseLost, ShuttingDown, TimedOut } from '../abort-reasons.ts';

/** A reason to stop as two numbers, which is how the slate keeps it. */
export interface Revocation {
  readonly revoked: number;
  readonly detail: number;
}

/** Nothing was said against the run. */
export const NOT_REVOKED = 0;

type Writer = (detail: number) => AbortReason;

/** In the order of their numbers, from 1. A number, once given, is only ever read by a cell of the same version. */
const reasons: readonly Writer[] = [
  () => new LeaseLost('refused'),
  () => new LeaseLost('ended'),
  () => new LeaseLost('lapsed'),
  () => new Cancelled(),
  (limitMs) => new TimedOut('overrun', limitMs),
  (limitMs) => new TimedOut('silent', limitMs),
  () => new ShuttingDown('deadline'),
  () => new ShuttingDown('shutdown'),
];

const TIMEOUTS = { overrun: 5, silent: 6 } as const;

/** The claim is over, or the slot is another run's. */
export const ENDED: Revocation = { revoked: 2, detail: 0 };
/** Its lease ran out. */
export const LAPSED: Revocation = { revoked: 3, detail: 0 };

/** To be left alone unless it has been started: says nothing to a handler that runs. */
export const WITHDRAWN: Revocation = { revoked: 9, detail: 0 };

export function toRevocation(reason: AbortReason): Revocation {
  if (reason instanceof TimedOut) return { revoked: TIMEOUTS[reason.kind], detail: reason.limitMs };
  if (reason instanceof ShuttingDown) return { revoked: reason.why === 'deadline' ? 7 : 8, detail: 0 };
  if (reason instanceof Cancelled) return { revoked: 4, detail: 0 };
  return { revoked: { refused: 1, ended: 2, lapsed: 3 }[reason.how], detail: 0 };
}

/** The reason as the handler's signal gives it. */
export const fromRevocation = ({ revoked, detail }: Revocation): AbortReason =>
  (reasons[revoked - 1] ?? (() => new LeaseLost('ended')))(detail);
