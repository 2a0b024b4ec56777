import type { Clock } from '../../protocol/ports.ts';
import { waitAtMost } from '../../protocol/wait-at-most.ts';
import type { AbortReason } from '../abort-reasons.ts';
import type { JobOptions } from '../define-job.ts';
import { type CellExit, explainDeath } from './cause-of-death.ts';
import { type CellCheck, createCellChecks } from './cell-checks.ts';
import { createCellFlushes } from './cell-flushes.ts';
import type { CellProcess } from './cell-process.ts';
import { type CellRun, createCellRuns } from './cell-runs.ts';
import { createMemoryWatch, createPulseWatch } from './cell-signs.ts';
import type { KilledFor, Work } from './cells.ts';
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

/** Starts a cell. */
export function startCell(options: CellOptions): Cell {
  const { id, clock, limits, process, pulseMs } = options;
  const life = { ready: false, retired: false, dead: false, used: 0, failures: 0 };
  const say = createHostTalk((said) => life.dead || process.send(said), options.soon);
  const runs = createCellRuns({ cell: id, slate: process.slate, pulseMs, say, onLeft: options.onFreed });
  const checks = createCellChecks(id, say);
  const flushes = createCellFlushes(clock, say);
  const pulse = createPulseWatch(process);
  const memory = createMemoryWatch(process, clock, pulseMs);
  const busy = () => runs.all.size + checks.count();
  let killedFor: KilledFor | undefined;
  let unloadable: string | undefined;

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
      case 'checked':
        checks.answered(message);
        return options.onFreed();
      case 'flushed':
        return flushes.flushed(message.turn);
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
    const lastWords = process.slate.lastWords();
    const { memoryBytes } = options;
    const known = { ending, killedFor, lastWords, memory: memory.last(), memoryBytes };
    const death = {
      ...{ killedFor, unloadable, cause: explainDeath(known), wasReady: life.ready },
      ...{ runs: [...runs.all.values()], checks: checks.all() },
    };
    process.forget();
    flushes.giveUp();
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
    memory: () => (life.dead ? memory.last() : memory.now()),
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
      checks.ask(check, type, payload, settle);
    },
    forget: checks.forget,
    async flush() {
      if (life.ready && !life.dead) await flushes.flush();
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
      memory.look();
      pulse.tick(busy() > 0);
      for (const run of runs.all.values()) run.ticks += 1;
      runs.look();
    },
  };
}
