import type { Clock } from '../../../protocol/ports.ts';
import type { AbortReason } from '../../abort-reasons.ts';
import type { KilledFor, Run, RunEnd, Work } from '../cells.ts';
import { thrownBy } from '../thrown.ts';
import type { Home, Homes } from './homes.ts';

interface Waiting {
  readonly run: number;
  readonly work: Work;
  readonly settle: (end: RunEnd | 'unstarted') => void;
  readonly since: number;
}

/** Runs that wait for a cell. */
export interface RunQueue {
  start(work: Work): Run;
  readonly isEmpty: () => boolean;
  /** Gives those who wait their cells, as far as there are any. */
  place(): void;
  /** Gives up on those who have waited for too long. */
  expire(): void;
  giveUp(cause: string): void;
}

/** How long a job waits for a cell before it is released. */
const PATIENCE_MS = 30_000;

export function createRunQueue(options: {
  readonly clock: Clock;
  readonly homes: Homes;
  readonly newRun: () => number;
  readonly onWaiting: () => void;
  readonly end: (home: Home, why: KilledFor, run: number) => Promise<void>;
}): RunQueue {
  const { clock, homes, newRun, onWaiting } = options;
  let waiting: Waiting[] = [];

  const giveUpOn = (some: readonly Waiting[], cause: string): void => {
    waiting = waiting.filter((each) => !some.includes(each));
    for (const { settle } of some) settle({ kind: 'unplaced', cause });
  };

  return {
    isEmpty: () => waiting.length === 0,
    giveUp: (cause) => giveUpOn(waiting, cause),
    expire: () =>
      giveUpOn(
        waiting.filter(({ since }) => clock.monotonic() - since > PATIENCE_MS),
        'no cell had room for it',
      ),
    place() {
      if (waiting.length === 0) return homes.unreserve(waiting);
      const left: Waiting[] = [];
      for (const each of waiting) {
        const home = homes.homeFor(each);
        if (home === undefined) left.push(each);
        else home.cell.run(each.run, each.work, each.settle);
      }
      waiting = left;
      homes.unreserve(left);
    },
    start(work) {
      const ended = Promise.withResolvers<RunEnd>();
      // Another number in each cell: one that it was taken from may still find the message, and must not take it for its own.
      let run = 0;
      let aborted: AbortReason | undefined;
      const queue = (given: Work): void => {
        run = newRun();
        waiting.push({
          ...{ run, work: given, since: clock.monotonic() },
          settle(end) {
            if (end !== 'unstarted') ended.resolve(end);
            else if (aborted !== undefined) ended.resolve({ kind: 'threw', error: thrownBy(aborted) });
            // Not begun, so nothing has to be told to anybody: it goes to another cell.
            else queue({ ...given, checked: undefined });
          },
        });
        onWaiting();
      };
      queue(work);
      return {
        end: ended.promise,
        abort(reason) {
          aborted = reason;
          const home = homes.ofRun(run);
          if (home !== undefined) return home.cell.abort(run, reason);
          // Whoever still waits for a cell does not begin: nobody would tell it there that it is to stop.
          const mine = waiting.filter((each) => each.run === run);
          waiting = waiting.filter((each) => each.run !== run);
          for (const { settle } of mine) settle('unstarted');
        },
        kill(why) {
          const home = homes.ofRun(run);
          if (home !== undefined) return void options.end(home, why, run);
          giveUpOn(
            waiting.filter((each) => each.run === run),
            'it was ended before it began',
          );
        },
      };
    },
  };
}
