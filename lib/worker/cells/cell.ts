import type { Clock } from '../../protocol/ports.ts';
import { waitAtMost } from '../../protocol/wait-at-most.ts';
import type { AbortReason } from '../abort-reasons.ts';
import type { JobOptions } from '../define-job.ts';
import { type CellExit, explainDeath } from './cause-of-death.ts';
import type { CellProcess } from './cell-process.ts';
import { type CellRun, createCellRuns } from './cell-runs.ts';
import type { KilledFor, PayloadCheck, Work } from './cells.ts';
import { type ChannelLimits, type FromCell, readFromCell } from './channel.ts';
import { createHostTalk } from './host-talk.ts';

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
  /** As it was a pulse ago at most: jobs that end before the host's next tick leave memory behind as well. */
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
  const { id, clock, limits, process, pulseMs } = options;
  const life = { ready: false, retired: false, dead: false, used: 0, failures: 0, memory: 0 };
  const say = createHostTalk((said) => life.dead || process.send(said), options.soon);
  const runs = createCellRuns({ cell: id, slate: process.slate, pulseMs, say, onLeft: options.onFreed });
  const checks = new Map<number, CellCheck>();
  const flushes = new Map<number, () => void>();
  const pulse = createPulseWatch(process);
  const busy = () => runs.all.size + checks.size;
  let killedFor: KilledFor | undefined;
  let unloadable: string | undefined;
  let weighedAt = Number.NEGATIVE_INFINITY;

  /** Of one that is dead the last sample counts. */
  const weigh = (): void => {
    if (life.dead) return;
    weighedAt = clock.monotonic();
    life.memory = process.memory() ?? life.memory;
  };

  const hear = (message: FromCell) => {
    switch (message.kind) {
      case 'ready':
        if (life.ready || life.retired) return;
        life.ready = true;
        return options.onReady(message.types);
      case 'unloadable':
        unloadable ??= message.text;
        return;
      case 'ended':
        if (!runs.all.has(message.run)) return;
        life.failures = message.end.kind === 'threw' ? life.failures + 1 : 0;
        return runs.leave(message.run, message.end);
      case 'unstarted':
        return runs.leaveUnstarted(message.run);
      case 'save':
        return void runs.save(message);
      case 'checked': {
        const check = checks.get(message.check);
        checks.delete(message.check);
        check?.settle(answerOf(id, message));
        return options.onFreed();
      }
      case 'flushed':
        return flushes.get(message.turn)?.();
    }
  };

  const die = async (ending: CellExit): Promise<void> => {
    if (life.dead) return;
    life.retired = true;
    process.end();
    await waitAtMost(LAST_WORDS_MS, process.disconnected, clock);
    life.dead = true;
    // Whoever was handed over and never began cannot have been the reason.
    runs.look();
    const { memory } = life;
    const lastWords = process.slate.lastWords();
    const known = { ending, killedFor, lastWords, memory, memoryBytes: options.memoryBytes };
    const death = {
      ...{ killedFor, unloadable, cause: explainDeath(known), wasReady: life.ready },
      ...{ runs: [...runs.all.values()], checks: [...checks.values()] },
    };
    process.forget();
    for (const flushed of flushes.values()) flushed();
    options.onDead(death);
  };

  process.onMessage((heard) => {
    // Its runs have been given to others: what is heard so late is about none of them.
    if (life.dead) return;
    for (const message of readFromCell(heard, limits)) hear(message);
  });
  process.onExit((ending) => void die(ending));

  return {
    ...{ id, pid: process.pid, runs: runs.all, busy, missedPulses: pulse.missed },
    isReady: () => life.ready && !life.retired,
    isRetired: () => life.retired,
    used: () => life.used,
    failures: () => life.failures,
    memory() {
      if (clock.monotonic() - weighedAt >= pulseMs) weigh();
      return life.memory;
    },
    run(run, work, settle) {
      // Its own check was the same job's use of the cell.
      if (work.checked?.cell !== id) life.used += 1;
      runs.start(run, work, settle);
    },
    abort: (run, reason) => life.dead || runs.abort(run, reason),
    revokeUnstarted(run) {
      if (runs.revokeUnstarted(run)) pulse.doubt();
    },
    check(check, type, payload, settle) {
      life.used += 1;
      checks.set(check, { check, settle });
      say({ kind: 'check', check, type, payload });
    },
    forget: (check) => say({ kind: 'forget', check }),
    async flush() {
      if (!life.ready || life.dead) return;
      const turn = ++turns;
      const flushed = new Promise<void>((resolve) => flushes.set(turn, resolve));
      say({ kind: 'flush', turn });
      await waitAtMost(FLUSH_MS, flushed, clock);
      flushes.delete(turn);
    },
    retire() {
      life.retired = true;
    },
    kill(why) {
      life.retired = true;
      if (life.dead) return;
      killedFor ??= why;
      process.end();
    },
    tick() {
      if (life.dead) return;
      weigh();
      pulse.tick(busy() > 0);
      for (const run of runs.all.values()) run.ticks += 1;
      runs.look();
    },
  };
}

/** Counts the ticks of the host for which a cell that has something to do has shown no pulse. */
function createPulseWatch({ slate }: CellProcess) {
  let pulse = 0;
  let missed = 0;
  /** It was given a run that it did not begin: until its pulse moves it counts as stuck, though nothing is in it. */
  let isDoubted = false;
  return {
    missed: () => missed,
    doubt() {
      isDoubted = true;
    },
    tick(isBusy: boolean) {
      const signs = slate.signs();
      if (signs.pulse !== pulse) isDoubted = false;
      missed = signs.pulse === pulse && (isDoubted || isBusy) ? missed + 1 : 0;
      pulse = signs.pulse;
    },
  };
}

function answerOf(
  cell: number,
  { answer, check, reason }: Extract<FromCell, { kind: 'checked' }>,
): PayloadCheck {
  if (answer === 'accepted') return { kind: 'accepted', token: { cell, check } };
  return answer === 'refused' ? { kind: 'refused', reason: reason ?? 'it says no more' } : { kind: answer };
}
