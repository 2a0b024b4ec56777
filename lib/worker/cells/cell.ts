import type { Clock } from '../../protocol/ports.ts';
import { waitAtMost } from '../../protocol/wait-at-most.ts';
import type { AbortReason } from '../abort-reasons.ts';
import type { JobOptions } from '../define-job.ts';
import { type CellExit, explainDeath } from './cause-of-death.ts';
import type { CellProcess } from './cell-process.ts';
import type { CheckToken, KilledFor, PayloadCheck, RunEnd, Work } from './cells.ts';
import { type ChannelLimits, type FromCell, readFromCell, type ToCell } from './channel.ts';
import { ENDED, NOT_REVOKED, type Revocation, toRevocation, WITHDRAWN } from './revocation.ts';

export interface CellOptions {
  readonly id: number;
  readonly process: CellProcess;
  /** How often the cell shows that its event loop turns. */
  readonly pulseMs: number;
  readonly limits: ChannelLimits;
  readonly clock: Clock;
  /** Runs something when the code that runs now has come to its end. */
  readonly soon: (run: () => void) => void;
  /** Memory beyond which the cell is ended. */
  readonly memoryBytes: number;
  onReady(types: readonly ({ readonly type: string } & JobOptions)[]): void;
  /** Something that ran or was checked here has ended. */
  onFreed(): void;
  onDead(death: CellDeath): void;
}

/** A cell that is no more, and what was in it. */
export interface CellDeath {
  readonly cause: string;
  readonly killedFor?: KilledFor;
  /** What the jobs module's loader said. */
  readonly unloadable?: string;
  readonly wasReady: boolean;
  readonly runs: readonly CellRun[];
  readonly checks: readonly CellCheck[];
}

/** A run in a cell. */
interface CellRun {
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
  readonly unlisten: () => void;
}

interface CellCheck {
  readonly check: number;
  readonly settle: (answer: PayloadCheck) => void;
}

export interface Cell {
  readonly id: number;
  readonly pid: number | undefined;
  readonly isReady: () => boolean;
  /** Takes nothing new. */
  readonly isRetired: () => boolean;
  readonly runs: ReadonlyMap<number, CellRun>;
  readonly busy: () => number;
  /** How many jobs have been in it, by now. */
  readonly used: () => number;
  /** Failed jobs in a row. */
  readonly failures: () => number;
  readonly memory: () => number;
  /** How many ticks of the host its pulse has been missing. */
  readonly missedPulses: () => number;
  run(run: number, work: Work, settle: CellRun['settle']): void;
  abort(run: number, reason: AbortReason): void;
  /** Takes a run back that was not started, if it can be seen that it was not. */
  revokeUnstarted(run: number): void;
  check(check: number, type: string, payload: string, settle: CellCheck['settle']): void;
  forget(check: number): void;
  flush(): Promise<void>;
  retire(): void;
  kill(why: KilledFor): void;
  /** One beat of the host's own time. */
  tick(): void;
}

/** Exit and the end of the channel come one after the other; a result may still be in between. */
const LAST_WORDS_MS = 250;
const FLUSH_MS = 1000;
let turns = 0;

/** Starts a cell. */
export function startCell(options: CellOptions): Cell {
  const { id, clock, limits, process } = options;
  const { pid, slate } = process;

  const runs = new Map<number, CellRun>();
  const checks = new Map<number, CellCheck>();
  const flushes = new Map<number, () => void>();
  const slots: boolean[] = [];
  let ready = false;
  let retired = false;
  let dead = false;
  let used = 0;
  let failures = 0;
  let memory = 0;
  let pulse = 0;
  let missed = 0;
  /** It was given a run that it did not begin: until its pulse moves it counts as stuck, though nothing is in it. */
  let isDoubted = false;
  let killedFor: KilledFor | undefined;
  let unloadable: string | undefined;
  let unsaid: ToCell[] = [];
  let isPlanned = false;

  const say = (message: ToCell) => {
    unsaid.push(message);
    if (isPlanned) return;
    isPlanned = true;
    options.soon(flushUnsaid);
  };
  const flushUnsaid = () => {
    isPlanned = false;
    const said = unsaid;
    unsaid = [];
    if (!dead) process.send(said);
  };

  const writeSlot = (written: CellRun, revocation = written.revocation) => {
    const { run, slot, work } = written;
    written.revocation = revocation;
    slate.write(slot, { run, ...revocation, ...work.lease.grant() });
  };

  const leave = (run: CellRun, end: RunEnd | 'unstarted') => {
    if (!runs.delete(run.run)) return;
    run.unlisten();
    writeSlot(run, ENDED);
    slots[run.slot] = false;
    run.settle(end);
    options.onFreed();
  };

  const hear = (message: FromCell) => {
    switch (message.kind) {
      case 'ready':
        if (ready || retired) return;
        ready = true;
        return options.onReady(message.types);
      case 'unloadable':
        unloadable ??= message.text;
        return;
      case 'ended': {
        const run = runs.get(message.run);
        if (run === undefined) return;
        failures = message.end.kind === 'threw' ? failures + 1 : 0;
        return leave(run, message.end);
      }
      case 'unstarted': {
        const run = runs.get(message.run);
        // Only what was taken back can have been left alone.
        return run && run.revocation.revoked !== NOT_REVOKED && leave(run, 'unstarted');
      }
      case 'save': {
        const run = runs.get(message.run);
        // One at a time: whoever says more has found a way around our own code.
        if (run === undefined || run.saving) return;
        return void save(run, message);
      }
      case 'checked': {
        const check = checks.get(message.check);
        checks.delete(message.check);
        const token: CheckToken = { cell: id, check: message.check };
        if (message.answer === 'accepted') check?.settle({ kind: 'accepted', token });
        else if (message.answer === 'refused')
          check?.settle({ kind: 'refused', reason: message.reason ?? 'it says no more' });
        else check?.settle({ kind: 'unanswered' });
        return options.onFreed();
      }
      case 'flushed':
        return flushes.get(message.turn)?.();
    }
  };

  const save = async (run: CellRun, { checkpoint, progress }: Extract<FromCell, { kind: 'save' }>) => {
    run.saving = true;
    const outcome = await run.work
      .save({ checkpoint, progress })
      .catch((error: unknown) => ({ failed: error instanceof Error ? error.message : String(error) }));
    run.saving = false;
    if (runs.get(run.run) === run) say({ kind: 'saved', run: run.run, outcome });
  };

  const die = async (ending: CellExit): Promise<void> => {
    if (dead) return;
    retired = true;
    process.end();
    await waitAtMost(LAST_WORDS_MS, process.disconnected, clock);
    dead = true;
    // Whoever was handed over and never began cannot have been the reason.
    for (const run of runs.values()) run.started ||= slate.slotSigns(run.slot).started === run.run;
    const death = {
      killedFor,
      unloadable,
      cause: explainDeath({
        ending,
        killedFor,
        lastWords: slate.lastWords(),
        memory,
        memoryBytes: options.memoryBytes,
      }),
      wasReady: ready,
      runs: [...runs.values()],
      checks: [...checks.values()],
    };
    process.forget();
    for (const flushed of flushes.values()) flushed();
    options.onDead(death);
  };

  process.onMessage((heard) => {
    for (const message of readFromCell(heard, limits)) hear(message);
  });
  process.onExit((ending) => void die(ending));

  return {
    id,
    pid,
    isReady: () => ready && !retired,
    isRetired: () => retired,
    runs,
    busy: () => runs.size + checks.size,
    used: () => used,
    failures: () => failures,
    memory: () => memory,
    missedPulses: () => missed,
    run(number, work, settle) {
      const free = slots.findIndex((taken) => !taken);
      const slot = free === -1 ? slots.length : free;
      slots[slot] = true;
      const run: CellRun = {
        ...{ run: number, slot, work, settle, ticks: 0, started: false, saving: false },
        progress: slate.slotSigns(slot).progress,
        revocation: { revoked: NOT_REVOKED, detail: 0 },
        unlisten: work.lease.onRenewal(() => writeSlot(run)),
      };
      runs.set(number, run);
      writeSlot(run);
      const { job, checked, origin, progressIntervalMs } = work;
      const isHere = checked?.cell === id;
      // Its own check was the same job's use of the cell.
      if (!isHere) used += 1;
      say({
        kind: 'run',
        run: number,
        slot,
        pulseMs: options.pulseMs,
        progressIntervalMs,
        checked: isHere ? checked.check : undefined,
        ...origin,
        job: {
          jobId: job.jobId,
          type: job.type,
          payload: isHere ? undefined : job.payload,
          checkpoint: job.checkpoint === undefined ? undefined : JSON.stringify(job.checkpoint),
          attempt: job.attempt,
          errors: job.errors,
          crashes: job.crashes,
          releases: job.releases,
          createdAt: job.createdAt,
          trace: job.trace,
        },
      });
    },
    abort(number, reason) {
      const run = runs.get(number);
      if (run === undefined || dead) return;
      writeSlot(run, toRevocation(reason));
      say({ kind: 'abort', run: number, reason: toRevocation(reason) });
    },
    revokeUnstarted(number) {
      const run = runs.get(number);
      if (run === undefined) return;
      writeSlot(run, WITHDRAWN);
      if (slate.slotSigns(run.slot).started === run.run) return;
      isDoubted = true;
      leave(run, 'unstarted');
    },
    check(number, type, payload, settle) {
      used += 1;
      checks.set(number, { check: number, settle });
      say({ kind: 'check', check: number, type, payload });
    },
    forget: (check) => say({ kind: 'forget', check }),
    async flush() {
      if (!ready || dead) return;
      const turn = ++turns;
      const flushed = new Promise<void>((resolve) => flushes.set(turn, resolve));
      say({ kind: 'flush', turn });
      await waitAtMost(FLUSH_MS, flushed, clock);
      flushes.delete(turn);
    },
    retire() {
      retired = true;
    },
    kill(why) {
      retired = true;
      if (dead) return;
      killedFor ??= why;
      process.end();
    },
    tick() {
      if (dead) return;
      memory = process.memory() ?? memory;
      const signs = slate.signs();
      if (signs.pulse !== pulse) isDoubted = false;
      missed = signs.pulse === pulse && (isDoubted || runs.size + checks.size > 0) ? missed + 1 : 0;
      pulse = signs.pulse;
      for (const run of runs.values()) {
        run.ticks += 1;
        const { started, progress } = slate.slotSigns(run.slot);
        run.started ||= started === run.run;
        if (progress !== run.progress) run.work.onProgress();
        run.progress = progress;
      }
    },
  };
}
