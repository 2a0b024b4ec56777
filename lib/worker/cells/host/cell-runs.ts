import type { AbortReason } from '../../abort-reasons.ts';
import type { RunEnd, Work } from '../cells.ts';
import type { FromCell, JobData, ToCell } from '../channel.ts';
import type { SharedMemory } from '../shared-memory.ts';
import { limitOf, stopNumberOf, WITHDRAWN } from '../stop-numbers.ts';

export interface CellRun {
  readonly run: number;
  readonly slot: number;
  readonly work: Work;
  readonly settle: (end: RunEnd | 'unstarted') => void;
  /** Since it was sent to the cell. */
  ticks: number;
  started: boolean;
  progress: number;
  saving: boolean;
  /** See `stopNumberOf`; 0 for none. */
  stop: number;
  limitMs: number;
}

/** The runs of one cell; each has a slot in shared memory. */
export class CellRuns {
  readonly all = new Map<number, CellRun>();
  readonly #shared: SharedMemory;
  readonly #send: (message: ToCell) => void;
  readonly #slots: boolean[] = [];

  constructor(shared: SharedMemory, send: (message: ToCell) => void) {
    this.#shared = shared;
    this.#send = send;
  }

  start(number: number, work: Work, settle: CellRun['settle']): void {
    const free = this.#slots.findIndex((taken) => !taken);
    const slot = free === -1 ? this.#slots.length : free;
    this.#slots[slot] = true;
    const run: CellRun = {
      ...{ run: number, slot, work, settle, ticks: 0, started: false, progress: 0, saving: false },
      ...{ stop: 0, limitMs: 0 },
    };
    work.lease.listen(() => this.#grant(run));
    this.all.set(number, run);
    this.#grant(run);
    const { origin, progressIntervalMs } = work;
    this.#send({ kind: 'run', run: number, slot, progressIntervalMs, ...origin, job: dataOf(work) });
  }

  /** Writes nothing, because the cell knows or was told. */
  leave(number: number, end: RunEnd | 'unstarted'): void {
    const run = this.all.get(number);
    if (run === undefined) return;
    this.all.delete(number);
    run.work.lease.listen(undefined);
    this.#slots[run.slot] = false;
    run.settle(end);
  }

  /** Only valid for a revoked run. */
  leaveUnstarted(number: number): void {
    if (this.all.get(number)?.stop !== 0) this.leave(number, 'unstarted');
  }

  abort(number: number, reason: AbortReason): void {
    const run = this.all.get(number);
    if (run === undefined) return;
    run.stop = stopNumberOf(reason);
    run.limitMs = limitOf(reason);
    this.#grant(run);
    this.#send({ kind: 'abort', run: number });
  }

  /** Revokes a run; true if it had not started. */
  revokeUnstarted(number: number): boolean {
    const run = this.all.get(number);
    if (run === undefined) return false;
    run.stop = WITHDRAWN;
    this.#grant(run);
    if (this.#shared.begun(run.slot).run === number) return false;
    this.leave(number, 'unstarted');
    return true;
  }

  async save({ run: number, checkpoint, progress }: Extract<FromCell, { kind: 'save' }>): Promise<void> {
    const run = this.all.get(number);
    // More than one at a time means that user code sent it.
    if (run === undefined || run.saving) return;
    run.saving = true;
    const outcome = await run.work
      .save({ checkpoint, progress })
      .catch((error: unknown) => ({ failed: error instanceof Error ? error.message : String(error) }));
    run.saving = false;
    if (this.all.get(number) === run) this.#send({ kind: 'saved', run: number, outcome });
  }

  look(): void {
    for (const run of this.all.values()) {
      const { run: begun, progress } = this.#shared.begun(run.slot);
      // Until the run starts, the slot still describes its predecessor.
      if (begun !== run.run) continue;
      run.started = true;
      if (progress !== run.progress) run.work.onProgress();
      run.progress = progress;
    }
  }

  #grant({ run, slot, work, stop, limitMs }: CellRun): void {
    this.#shared.grant(slot, { run, stop, limitMs, endsAt: work.lease.endsAt() });
  }
}

function dataOf({ job }: Work): JobData {
  const { jobId, type, payload, attempt, errors, crashes, releases, createdAt, trace } = job;
  const checkpoint = job.checkpoint === undefined ? undefined : JSON.stringify(job.checkpoint);
  return { jobId, type, payload, checkpoint, attempt, errors, crashes, releases, createdAt, trace };
}
