import type { Clock } from '../../../protocol/ports.ts';
import { waitAtMost } from '../../../protocol/wait-at-most.ts';
import type { AbortReason } from '../../abort-reasons.ts';
import type { JobOptions } from '../../define-job.ts';
import type { KilledFor, Work } from '../cells.ts';
import { type ChannelLimits, type FromCell, readFromCell } from '../channel.ts';
import { type CellExit, explainDeath } from './cause-of-death.ts';
import { type CellCheck, type CellChecks, createCellChecks } from './cell-checks.ts';
import { type CellFlushes, createCellFlushes } from './cell-flushes.ts';
import type { CellProcess } from './cell-process.ts';
import { type CellRun, type CellRuns, createCellRuns } from './cell-runs.ts';
import { createMemoryWatch, createPulseWatch, type MemoryWatch, type PulseWatch } from './cell-signs.ts';
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
export const startCell = (options: CellOptions): Cell => new LiveCell(options);

class LiveCell implements Cell {
  readonly id: number;
  readonly pid: number | undefined;
  readonly runs: ReadonlyMap<number, CellRun>;
  readonly #options: CellOptions;
  readonly #process: CellProcess;
  readonly #runs: CellRuns;
  readonly #checks: CellChecks;
  readonly #flushes: CellFlushes;
  readonly #pulse: PulseWatch;
  readonly #memory: MemoryWatch;
  #wasReady = false;
  #isRetired = false;
  #hasExited = false;
  #isDead = false;
  #wasDeaf = false;
  #used = 0;
  #failures = 0;
  #killedFor: KilledFor | undefined;
  #unloadable: string | undefined;

  constructor(options: CellOptions) {
    const { id, clock, limits, process, pulseMs } = options;
    const say = createHostTalk((said) => this.#isDead || process.send(said), options.soon);
    this.#options = options;
    this.#process = process;
    this.#runs = createCellRuns({ cell: id, slate: process.slate, pulseMs, say, onLeft: options.onFreed });
    this.#checks = createCellChecks(id, say);
    this.#flushes = createCellFlushes(clock, say);
    this.#pulse = createPulseWatch(process);
    this.#memory = createMemoryWatch(process, clock, pulseMs);
    this.id = id;
    this.pid = process.pid;
    this.runs = this.#runs.all;
    process.onMessage((heard) => {
      // Its runs have been given to others: what is heard so late is about none of them.
      if (this.#isDead) return;
      for (const message of readFromCell(heard, limits)) this.#hear(message);
    });
    process.onExit((ending) => void this.#die(ending));
    void process.disconnected.then(() => this.#endIfDeaf());
  }

  isReady(): boolean {
    return this.#wasReady && !this.#isRetired;
  }

  isRetired(): boolean {
    return this.#isRetired;
  }

  busy(): number {
    return this.runs.size + this.#checks.count();
  }

  used(): number {
    return this.#used;
  }

  failures(): number {
    return this.#failures;
  }

  memory(): number {
    return this.#isDead ? this.#memory.last() : this.#memory.now();
  }

  missedPulses(): number {
    return this.#pulse.missed();
  }

  run(run: number, work: Work, settle: CellRun['settle']): void {
    // Its own check was the same job's use of the cell.
    if (work.checked?.cell !== this.id) this.#used += 1;
    this.#runs.start(run, work, settle);
  }

  abort(run: number, reason: AbortReason): void {
    if (!this.#isDead) this.#runs.abort(run, reason);
  }

  revokeUnstarted(run: number): void {
    if (this.#runs.revokeUnstarted(run)) this.#pulse.doubt();
  }

  check(check: number, type: string, payload: string, settle: CellCheck['settle']): void {
    this.#used += 1;
    this.#checks.ask(check, type, payload, settle);
  }

  forget(check: number): void {
    this.#checks.forget(check);
  }

  async flush(): Promise<void> {
    if (this.#wasReady && !this.#isDead) await this.#flushes.flush();
  }

  retire(): void {
    this.#isRetired = true;
  }

  kill(why: KilledFor): void {
    this.#isRetired = true;
    if (this.#isDead) return;
    this.#killedFor ??= why;
    this.#process.end();
  }

  tick(): void {
    if (this.#isDead) return;
    this.#memory.look();
    this.#pulse.tick(this.busy() > 0);
    for (const run of this.runs.values()) run.ticks += 1;
    this.#runs.look();
  }

  #hear(message: FromCell): void {
    switch (message.kind) {
      case 'ready':
        if (this.#wasReady || this.#isRetired) break;
        this.#wasReady = true;
        this.#options.onReady(message.types);
        break;
      case 'unloadable':
        this.#unloadable ??= message.text;
        break;
      case 'ended':
        if (!this.runs.has(message.run)) break;
        this.#failures = message.end.kind === 'threw' ? this.#failures + 1 : 0;
        this.#runs.leave(message.run, message.end);
        break;
      case 'unstarted':
        this.#runs.leaveUnstarted(message.run);
        break;
      case 'save':
        void this.#runs.save(message);
        break;
      case 'checked':
        this.#checks.answered(message);
        this.#options.onFreed();
        break;
      case 'flushed':
        this.#flushes.flushed(message.turn);
    }
  }

  async #die(ending: CellExit): Promise<void> {
    // A process that an error was told of is told of again when it exits.
    if (this.#hasExited) return;
    this.#hasExited = true;
    this.#isRetired = true;
    this.#process.end();
    await waitAtMost(LAST_WORDS_MS, this.#process.disconnected, this.#options.clock);
    this.#isDead = true;
    // Whoever was handed over and never began cannot have been the reason.
    this.#runs.look();
    const death = this.#describeDeath(ending);
    this.#process.forget();
    this.#flushes.giveUp();
    this.#options.onDead(death);
  }

  /** Its channel is closed and it lives: it cannot say how its jobs end, and they would keep it for as long as they may run. */
  async #endIfDeaf(): Promise<void> {
    if (!this.#hasExited) await this.#options.clock.sleep(LAST_WORDS_MS);
    if (this.#hasExited) return;
    this.#wasDeaf = true;
    this.#process.end();
  }

  #describeDeath(ending: CellExit): CellDeath {
    const killedFor = this.#killedFor;
    const { memoryBytes } = this.#options;
    const known = { killedFor, lastWords: this.#process.slate.lastWords(), wasDeaf: this.#wasDeaf };
    return {
      cause: explainDeath({ ending, ...known, memory: this.#memory.last(), memoryBytes }),
      ...{ killedFor, unloadable: this.#unloadable, wasReady: this.#wasReady },
      ...{ runs: [...this.runs.values()], checks: this.#checks.all() },
    };
  }
}
