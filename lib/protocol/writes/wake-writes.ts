import { LEADER_KEY } from '../../wire/table.ts';
import type { RowWrite } from './row-write.ts';

/**
 * The writes of reapers that end after their sweep, as on Lambda. Each sends one delayed message that starts the next, and
 * says on the reaper's own row which message counts and when it is due.
 */

/** What one reaper leaves on the row for the next. */
export interface NextSweep {
  /** Names the one message that counts; a reaper that is started by another ends after one read. */
  readonly wake: string;
  /** When the next sweep is promised. One that begins much later was missed, and lapses found then are nobody's crash. */
  readonly wakeAt: number;
  /** When the live leases were last counted. */
  readonly gaugedAt: number;
}

/** Promises the next sweep, provided that nobody else has since `seen` was read. Its message is sent before. */
export const armWakeWrite = (
  next: NextSweep,
  { seen, now, shards }: { readonly seen: string | undefined; readonly now: number; readonly shards: number },
): RowWrite => ({
  transition: 'armWake',
  jobId: LEADER_KEY,
  when: [
    [
      seen === undefined
        ? { attribute: 'wake', is: 'absent' }
        : { attribute: 'wake', is: 'equal', value: seen },
    ],
  ],
  set: { ...next, ledAt: now },
  keep: { shards },
  returns: 'nothing',
});

/** Puts the promise off while its reaper is still at work, so that no tick takes it for broken. */
export const renewWakeWrite = (wake: string, wakeAt: number): RowWrite => ({
  transition: 'renewWake',
  jobId: LEADER_KEY,
  when: [
    [
      { attribute: 'wake', is: 'equal', value: wake },
      { attribute: 'wakeAt', is: 'below', value: wakeAt },
    ],
  ],
  set: { wakeAt },
  returns: 'nothing',
});

/** Keeps whether the breaker is open with lapsed rows left behind for the sake of its rate. */
export const keepBreakerWrite = (breakerOpen: boolean): RowWrite => ({
  transition: 'keepBreaker',
  jobId: LEADER_KEY,
  when: [[{ attribute: 'breakerOpen', is: 'differs', value: breakerOpen }]],
  set: { breakerOpen },
  returns: 'nothing',
});
