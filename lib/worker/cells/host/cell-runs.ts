import type { AbortReason } from '../../abort-reasons.ts';
import type { RunEnd, Work } from '../cells.ts';
import type { FromCell, JobData, ToCell } from '../channel.ts';
import { NOT_REVOKED, type Revocation, toRevocation, WITHDRAWN } from '../revocation.ts';
import type { HostSlate } from '../slate.ts';

/** A run in a cell. */
export interface CellRun {
  readonly run: number;
  readonly slot: number;
  readonly work: Work;
  /** Ticks of the host since it was handed over. */
  ticks: number;
  started: boolean;
  progress: number;
  saving: boolean;
  revocation: Revocation;
  readonly settle: (end: RunEnd | 'unstarted') => void;
}

export interface CellRuns {
  readonly all: ReadonlyMap<number, CellRun>;
  start(run: number, work: Work, settle: CellRun['settle']): void;
  /** It is over, and its slot is free. The cell knows, or was told before: nothing is written for the one that left. */
  leave(run: number, end: RunEnd | 'unstarted'): void;
  /** The cell says that it left the run alone. */
  leaveUnstarted(run: number): void;
  abort(run: number, reason: AbortReason): void;
  /** Takes a run back, and says whether it was seen that it had not been started. */
  revokeUnstarted(run: number): boolean;
  save(asked: Extract<FromCell, { kind: 'save' }>): Promise<void>;
  /** Reads what the cell says of its runs. */
  look(): void;
}

/** The runs of one cell, as its host keeps them: each has a slot of the slate. */
export function createCellRuns(options: {
  readonly cell: number;
  readonly slate: HostSlate;
  readonly pulseMs: number;
  readonly say: (message: ToCell) => void;
  readonly onLeft: () => void;
}): CellRuns {
  const { cell, slate, pulseMs, say } = options;
  const runs = new Map<number, CellRun>();
  const slots: boolean[] = [];

  const writeSlot = (written: CellRun, revocation = written.revocation) => {
    const { run, slot, work } = written;
    written.revocation = revocation;
    slate.write(slot, { run, ...revocation, ...work.lease.grant() });
  };

  const leave: CellRuns['leave'] = (number, end) => {
    const run = runs.get(number);
    if (run === undefined) return;
    runs.delete(number);
    run.work.lease.listen(undefined);
    slots[run.slot] = false;
    run.settle(end);
    options.onLeft();
  };

  return {
    all: runs,
    leave,
    start(number, work, settle) {
      const free = slots.findIndex((taken) => !taken);
      const slot = free === -1 ? slots.length : free;
      slots[slot] = true;
      const run: CellRun = {
        ...{ run: number, slot, work, settle, ticks: 0, started: false, progress: 0, saving: false },
        revocation: { revoked: NOT_REVOKED, detail: 0 },
      };
      work.lease.listen(() => writeSlot(run));
      runs.set(number, run);
      writeSlot(run);
      const { checked, origin, progressIntervalMs } = work;
      const isHere = checked?.cell === cell;
      say({
        ...{ kind: 'run', run: number, slot, pulseMs, progressIntervalMs },
        checked: isHere ? checked.check : undefined,
        ...origin,
        job: dataOf(work, isHere),
      });
    },
    leaveUnstarted(number) {
      // Only what was taken back can have been left alone.
      if (runs.get(number)?.revocation.revoked !== NOT_REVOKED) leave(number, 'unstarted');
    },
    abort(number, reason) {
      const run = runs.get(number);
      if (run === undefined) return;
      writeSlot(run, toRevocation(reason));
      say({ kind: 'abort', run: number, reason: toRevocation(reason) });
    },
    revokeUnstarted(number) {
      const run = runs.get(number);
      if (run === undefined) return false;
      writeSlot(run, WITHDRAWN);
      if (slate.slotSigns(run.slot).started === run.run) return false;
      leave(number, 'unstarted');
      return true;
    },
    async save({ run: number, checkpoint, progress }) {
      const run = runs.get(number);
      // One at a time: whoever says more has found a way around our own code.
      if (run === undefined || run.saving) return;
      run.saving = true;
      const outcome = await run.work
        .save({ checkpoint, progress })
        .catch((error: unknown) => ({ failed: error instanceof Error ? error.message : String(error) }));
      run.saving = false;
      if (runs.get(number) === run) say({ kind: 'saved', run: number, outcome });
    },
    look() {
      for (const run of runs.values()) {
        const { started, progress } = slate.slotSigns(run.slot);
        // Until it has been started, what the slot says is about the one before it.
        if (started !== run.run) continue;
        run.started = true;
        if (progress !== run.progress) run.work.onProgress();
        run.progress = progress;
      }
    },
  };
}

/** The job as its cell is told of it; the payload of one that was checked there is there already. */
const dataOf = ({ job }: Work, isThere: boolean): JobData => ({
  jobId: job.jobId,
  type: job.type,
  payload: isThere ? undefined : job.payload,
  checkpoint: job.checkpoint === undefined ? undefined : JSON.stringify(job.checkpoint),
  attempt: job.attempt,
  errors: job.errors,
  crashes: job.crashes,
  releases: job.releases,
  createdAt: job.createdAt,
  trace: job.trace,
});
