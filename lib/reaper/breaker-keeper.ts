import type { ReaperPlace } from '../protocol/store/reaper-row.ts';
import type { ReaperDeps } from './deps.ts';

/**
 * Keeps the breaker's state where the next reaper finds it. Without it a mass lapse that outlasts one reaper would be
 * charged to its jobs by the next, which sees only what is left.
 */
export interface BreakerKeeper {
  /** The breaker opened: said before the first row is moved, because this reaper may die halfway. */
  opened(): Promise<void>;
  /** A sweep is over, with lapsed rows held back or not. */
  swept(heldBack: boolean): Promise<void>;
}

export function keepBreaker(
  { telemetry }: Pick<ReaperDeps, 'telemetry'>,
  place: Pick<ReaperPlace, 'keepBreaker'>,
  isOpen = false,
): BreakerKeeper {
  let kept = isOpen;
  const keep = async (open: boolean) => {
    if (open === kept) return;
    try {
      await place.keepBreaker(open);
      kept = open;
    } catch (error) {
      // The sweep goes on: this reaper knows, and only its successor would not.
      telemetry.error('the breaker’s state was not kept', error);
    }
  };
  return { opened: () => keep(true), swept: keep };
}
