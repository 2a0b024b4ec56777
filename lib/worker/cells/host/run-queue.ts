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

/** Runs that wait for a cell. */
export class RunQueue {
  readonly #clock: Clock;
  readonly #onWaiting: () => void;
  #waiting: Waiting[] = [];
  #runs = 0;

  constructor(clock: Clock, onWaiting: () => void) {
    this.#clock = clock;
    this.#onWaiting = onWaiting;
  }

  /** In order. */
  jobs(): readonly Work[] {
    return this.#waiting.map(({ work }) => work);
  }

  place(cellFor: (work: Work) => Cell | undefined): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = waiting.filter((each) => {
      const cell = cellFor(each.work);
      if (cell !== undefined) each.begin(cell);
      return cell === undefined;
    });
  }

  expire(): void {
    const now = this.#clock.monotonic();
    this.#giveUpOn(({ since }) => now - since > PATIENCE_MS, 'no cell had room for it');
  }

  giveUp(cause: string): void {
    this.#giveUpOn(() => true, cause);
  }

  start(work: Work): Run {
    const ended = Promise.withResolvers<RunEnd>();
    let run = 0;
    let cell: Cell | undefined;
    let aborted: AbortReason | undefined;
    const settle = (end: RunEnd | 'unstarted'): void => {
      cell = undefined;
      if (end !== 'unstarted') ended.resolve(end);
      else if (aborted !== undefined) ended.resolve({ kind: 'threw', error: thrownBy(aborted) });
      // Not started, so it can move silently.
      else this.#enqueue(waiting());
    };
    const waiting = (): Waiting => ({
      work,
      since: this.#clock.monotonic(),
      begin: (found) => {
        cell = found;
        // A new number per cell, because the previous cell may still read the old message.
        run = ++this.#runs;
        found.run(run, work, settle);
      },
      giveUp: (cause) => ended.resolve({ kind: 'unplaced', cause }),
    });
    this.#enqueue(waiting());
    const leave = (end: RunEnd | 'unstarted') => {
      const before = this.#waiting.length;
      this.#waiting = this.#waiting.filter((each) => each.work !== work);
      if (this.#waiting.length < before) settle(end);
    };
    return {
      end: ended.promise,
      abort(reason) {
        aborted = reason;
        // A waiting job has no cell that could tell it to stop.
        if (cell === undefined) leave('unstarted');
        else cell.abort(run, reason);
      },
      kill() {
        if (cell === undefined) leave({ kind: 'unplaced', cause: 'it was ended before it began' });
        else cell.kill('ignored signal');
      },
    };
  }

  #enqueue(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#onWaiting();
  }

  #giveUpOn(isHopeless: (waiting: Waiting) => boolean, cause: string): void {
    const hopeless = this.#waiting.filter(isHopeless);
    this.#waiting = this.#waiting.filter((each) => !hopeless.includes(each));
    for (const each of hopeless) each.giveUp(cause);
  }
}
