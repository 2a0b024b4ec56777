import type { Clock } from '../../../protocol/ports.ts';
import type { AbortReason } from '../../abort-reasons.ts';
import { thrownBy } from '../../thrown.ts';
import type { Run, RunEnd, Work } from '../cells.ts';
import type { Cell } from './cell.ts';

interface Waiting {
  readonly work: Work;
  readonly since: number;
  begin(cell: Cell): void;
  giveUp(cause: string): void;
}

const PATIENCE_MS = 30_000;

export function createRunQueue(clock: Clock, onWaiting: () => void) {
  let waiting: readonly Waiting[] = [];
  let runs = 0;

  const enqueue = (each: Waiting): void => {
    waiting = [...waiting, each];
    onWaiting();
  };
  const giveUpOn = (isHopeless: (each: Waiting) => boolean, cause: string): void => {
    const hopeless = waiting.filter(isHopeless);
    waiting = waiting.filter((each) => !hopeless.includes(each));
    for (const each of hopeless) each.giveUp(cause);
  };

  return {
    jobs: (): readonly Work[] => waiting.map(({ work }) => work),
    place(cellFor: (work: Work) => Cell | undefined): void {
      if (waiting.length === 0) return;
      waiting = waiting.filter((each) => {
        const cell = cellFor(each.work);
        if (cell !== undefined) each.begin(cell);
        return cell === undefined;
      });
    },
    expire(): void {
      const now = clock.monotonic();
      giveUpOn(({ since }) => now - since > PATIENCE_MS, 'no cell had room for it');
    },
    giveUp: (cause: string): void => giveUpOn(() => true, cause),
    start(work: Work): Run {
      const ended = Promise.withResolvers<RunEnd>();
      let run = 0;
      let cell: Cell | undefined;
      let aborted: AbortReason | undefined;
      const settle = (end: RunEnd | 'unstarted'): void => {
        cell = undefined;
        if (end !== 'unstarted') ended.resolve(end);
        else if (aborted !== undefined) ended.resolve({ kind: 'threw', error: thrownBy(aborted) });
        // It has not started, so it can move without notice.
        else wait();
      };
      const wait = (): void =>
        enqueue({
          work,
          since: clock.monotonic(),
          begin(chosen) {
            cell = chosen;
            // A new number for each cell, because the previous cell may still read the old message.
            run = ++runs;
            chosen.run(run, work, settle);
          },
          giveUp: (cause) => ended.resolve({ kind: 'unplaced', cause }),
        });
      wait();
      const leave = (end: RunEnd | 'unstarted') => {
        const before = waiting.length;
        waiting = waiting.filter((each) => each.work !== work);
        if (waiting.length < before) settle(end);
      };
      return {
        end: ended.promise,
        abort(reason) {
          aborted = reason;
          // A waiting job has no cell to stop it.
          if (cell === undefined) leave('unstarted');
          else cell.abort(run, reason);
        },
        kill() {
          if (cell === undefined) leave({ kind: 'unplaced', cause: 'the run was ended before it began' });
          else cell.kill('ignored signal');
        },
      };
    },
  };
}
