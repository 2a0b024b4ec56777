import { partsOfGroup } from '../../wire/limits.ts';
import type { Hint } from '../ports.ts';

/** Before the reservation ends. */
const SECOND_HINT_SECONDS = 45;

/** Two for each place, which would stay idle if the only one were lost. */
export const hintsFor = (group: string, jobIds: readonly string[]): Hint[] =>
  [0, SECOND_HINT_SECONDS].flatMap((delaySeconds) =>
    jobIds.map((jobId) => ({ jobId, ...partsOfGroup(group), delaySeconds })),
  );
