import type { AbortReason } from '../../abort-reasons.ts';
import type { RunEnd, Work } from '../cells.ts';
import { type FromCell, jobDataOf, type ToCell } from '../channel.ts';
import type { SharedMemory } from '../shared-memory.ts';
import { limitOf, stopNumberOf, WITHDRAWN } from '../stop-numbers.ts';

export interface CellRun {
  readonly run: number;
  readonly slot: number;
  readonly work: Work;
  readonly settle: (end: RunEnd | 'unstarted') => void;
  ticks: number;
  started: boolean;
  progress: number;
  saving: boolean;
  /** See `stopNumberOf`; 0 for none. */
  stop: number;
  limitMs: number;
}

export function createCellRuns(shared: SharedMemory, send: (message: ToCell) => void) {
  const all = new Map<number, CellRun>();
  const takenSlots: boolean[] = [];

  const grant = ({ run, slot, work, stop, limitMs }: CellRun): void =>
    shared.grant(slot, { run, stop, limitMs, endsAt: work.lease.endsAt() });

  const leave = (number: number, end: RunEnd | 'unstarted'): void => {
    const run = all.get(number);
    if (run === undefined) return;
    all.delete(number);
    run.work.lease.listen(undefined);
    takenSlots[run.slot] = false;
    run.settle(end);
  };

  return {
    all,
    leave,
    start(number: number, work: Work, settle: CellRun['settle']): void {
      const free = takenSlots.findIndex((isTaken) => !isTaken);
      const slot = free === -1 ? takenSlots.length : free;
      takenSlots[slot] = true;
      const counts = { ticks: 0, started: false, progress: 0, saving: false, stop: 0, limitMs: 0 };
      const run: CellRun = { run: number, slot, work, settle, ...counts };
      work.lease.listen(() => grant(run));
      all.set(number, run);
      grant(run);
      const { origin, progressIntervalMs } = work;
      send({ kind: 'run', run: number, slot, progressIntervalMs, ...origin, job: jobDataOf(work.job) });
    },
    leaveUnstarted(number: number): void {
      if (all.get(number)?.stop !== 0) leave(number, 'unstarted');
    },
    abort(number: number, reason: AbortReason): void {
      const run = all.get(number);
      if (run === undefined) return;
      run.stop = stopNumberOf(reason);
      run.limitMs = limitOf(reason);
      grant(run);
      send({ kind: 'abort', run: number });
    },
    revokeUnstarted(number: number): boolean {
      const run = all.get(number);
      if (run === undefined) return false;
      run.stop = WITHDRAWN;
      grant(run);
      if (shared.begun(run.slot).run === number) return false;
      leave(number, 'unstarted');
      return true;
    },
    async save({ run: number, checkpoint, progress }: Extract<FromCell, { kind: 'save' }>): Promise<void> {
      const run = all.get(number);
      // A second one at the same time was sent by user code.
      if (run === undefined || run.saving) return;
      run.saving = true;
      const outcome = await run.work
        .save({ checkpoint, progress })
        .catch((error: unknown) => ({ failed: error instanceof Error ? error.message : String(error) }));
      run.saving = false;
      if (all.get(number) === run) send({ kind: 'saved', run: number, outcome });
    },
    look(): void {
      for (const run of all.values()) {
        const { run: begun, progress } = shared.begun(run.slot);
        // Until the run starts, the slot still describes its predecessor.
        if (begun !== run.run) continue;
        run.started = true;
        if (progress !== run.progress) run.work.onProgress();
        run.progress = progress;
      }
    },
  };
}
