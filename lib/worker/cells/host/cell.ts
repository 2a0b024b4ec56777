import { waitAtMost } from '../../../protocol/wait-at-most.ts';
import type { AbortReason } from '../../abort-reasons.ts';
import type { JobOptions } from '../../define-job.ts';
import type { HandlerEnd, Work } from '../cells.ts';
import { type FromCell, readFromCell, type ToCell } from '../channel.ts';
import { Outbox } from '../outbox.ts';
import { type CellExit, explainDeath, type KilledFor } from './cause-of-death.ts';
import type { CellPoolOptions } from './cell-pool.ts';
import type { CellProcess } from './cell-process.ts';
import { type CellRun, CellRuns } from './cell-runs.ts';
import { Health } from './health.ts';
import type { Timers } from './ticks.ts';

interface CellOptions
  extends Pick<CellPoolOptions, 'clock' | 'telemetry' | 'settings' | 'memoryBytes' | 'loadWithinMs'>,
    Pick<Timers, 'defer'> {
  readonly id: number;
  readonly process: CellProcess;
  /** How often the cell signals that its event loop turns. */
  readonly pulseMs: number;
  onReady(types: readonly ({ readonly type: string } & JobOptions)[]): void;
  /** A run ended, or the cell takes no more. */
  onFreed(): void;
  /** Handlers fail here but not in other cells. */
  standsOut(): boolean;
  onDead(death: CellDeath): void;
}

export interface CellDeath {
  readonly cause: string;
  readonly killedFor?: KilledFor;
  readonly wasReady: boolean;
  /** The cause is what its jobs module threw. */
  readonly hasThrown: boolean;
  readonly ageMs: number;
  readonly runs: readonly CellRun[];
}

/** A result may arrive between exit and the end of the channel. */
const LAST_MESSAGES_MS = 250;
const FLUSH_MS = 1000;
/** A cell this late gets no work. */
const LATE_TICKS = 3;
/** Longer than a cell's own limit, because a blocked cell cannot count. */
const LOAD_WITHIN_MS = 35_000;
/** A run that has not started by then moves to another cell. */
const UNSTARTED_MS = 1000;
/** Memory shares above which a cell is killed, or replaced when idle. */
const TOO_MUCH = 0.95;
const MUCH = 0.7;
const FAILURES_IN_A_ROW = 5;
const MOST_UNHEARD = 5;

export class Cell {
  readonly id: number;
  readonly pid: number | undefined;
  readonly runs: ReadonlyMap<number, CellRun>;
  readonly health = new Health();
  readonly #options: CellOptions;
  readonly #process: CellProcess;
  readonly #runs: CellRuns;
  readonly #send: (message: ToCell) => void;
  readonly #startedAt: number;
  #ticks = 0;
  #wasReady = false;
  #isEnding = false;
  #hasExited = false;
  #isDead = false;
  #wasDeaf = false;
  #used = 0;
  #failures = 0;
  /** Consecutive ticks with an overdue start and no message. */
  #unheard = 0;
  #fault: string | undefined;
  #pulse = 0;
  #missedPulses = 0;
  #memory = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #flush = { turn: 0, isOver: () => {} };
  #killedFor: KilledFor | undefined;

  constructor(options: CellOptions) {
    const { id, settings, process, defer } = options;
    this.#send = new Outbox<ToCell>((said) => this.#isDead || process.send(said), defer).send;
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
    this.#process = process;
    this.#runs = new CellRuns(process.shared, this.#send);
    this.id = id;
    this.pid = process.pid;
    this.runs = this.#runs.all;
    process.onMessage((heard) => {
      // Its runs have already moved on.
      if (this.#isDead) return;
      for (const message of readFromCell(heard, settings)) this.#onMessage(message);
    });
    process.onExit((ending) => void this.#die(ending));
    void process.disconnected.then(() => this.#endIfDeaf());
  }

  isReady(): boolean {
    return this.#wasReady && !this.#isEnding;
  }

  isEnding(): boolean {
    return this.#isEnding;
  }

  canServe(): boolean {
    return this.isReady() && !this.isRetired() && this.#missedPulses < LATE_TICKS;
  }

  /** Ends with its current runs. */
  isRetired(): boolean {
    return this.#fault !== undefined;
  }

  /** Should be replaced once idle. */
  isWorn(): boolean {
    const isFull = this.memory() > this.#options.memoryBytes * MUCH;
    return this.isRetired() || isFull || this.#failures >= FAILURES_IN_A_ROW;
  }

  needsTicks(): boolean {
    return this.runs.size > 0 || this.#missedPulses > 0 || this.#isEnding || !this.#wasReady;
  }

  /** Number of jobs so far. */
  used(): number {
    return this.#used;
  }

  /** At most a pulse old, because jobs that end between ticks leave memory behind. */
  memory(): number {
    const isOld = this.#options.clock.monotonic() - this.#lookedAt >= this.#options.pulseMs;
    if (isOld && !this.#isDead) this.#lookAtMemory();
    return this.#memory;
  }

  run(run: number, work: Work, settle: CellRun['settle']): void {
    this.#used += 1;
    this.#runs.start(run, work, settle);
  }

  abort(run: number, reason: AbortReason): void {
    if (!this.#isDead) this.#runs.abort(run, reason);
  }

  async flush(): Promise<void> {
    if (!this.#wasReady || this.#isDead) return;
    const flushed = Promise.withResolvers<void>();
    this.#flush = { turn: this.#flush.turn + 1, isOver: flushed.resolve };
    this.#send({ kind: 'flush', turn: this.#flush.turn });
    await waitAtMost(FLUSH_MS, flushed.promise, this.#options.clock);
  }

  kill(why: KilledFor): void {
    this.#isEnding = true;
    if (this.#isDead) return;
    this.#killedFor ??= why;
    this.#process.end();
  }

  /** Kills a stuck or oversized cell, and moves jobs that it does not start. */
  tick(): void {
    if (this.#isDead) return;
    const last = this.#pulse;
    this.#pulse = this.#process.shared.pulse();
    this.#ticks += 1;
    this.#missedPulses = this.#wasReady && this.#pulse === last ? this.#missedPulses + 1 : 0;
    this.#lookAtMemory();
    this.#runs.look();
    for (const run of this.runs.values()) run.ticks += 1;
    if (!this.#isEnding) this.#endIfBeyondLimits();
  }

  #endIfBeyondLimits(): void {
    const { pulseMs, memoryBytes, settings, loadWithinMs = LOAD_WITHIN_MS } = this.#options;
    const runs = [...this.runs.values()];
    const patience = Math.min(settings.maxStallMs, ...runs.map(({ work }) => work.maxStallMs));
    if (!this.#wasReady && this.#ticks * pulseMs > loadWithinMs) this.kill('loading');
    else if (this.#missedPulses * pulseMs > patience) this.kill('stalled');
    else if (this.#memory > memoryBytes * TOO_MUCH) this.kill('memory');
    else this.#moveUnstarted(runs);
  }

  #moveUnstarted(runs: readonly CellRun[]): void {
    const { pulseMs, onFreed } = this.#options;
    const late = runs.filter(({ started, ticks }) => !started && ticks * pulseMs > UNSTARTED_MS);
    const moved = late.filter(({ run }) => this.#runs.revokeUnstarted(run));
    if (moved.length === 0) return;
    // Its event loop turns but it receives nothing; a busy cell would send messages.
    if (this.#missedPulses === 0 && ++this.#unheard >= MOST_UNHEARD)
      this.#retire('it does not begin what it is given');
    onFreed();
  }

  #lookAtMemory(): void {
    this.#lookedAt = this.#options.clock.monotonic();
    // A process that just ended reports none; its last value explains the end.
    this.#memory = this.#process.memory() || this.#memory;
  }

  #onMessage(message: FromCell): void {
    this.#unheard = 0;
    switch (message.kind) {
      case 'ready':
        if (this.#wasReady || this.#isEnding) break;
        this.#wasReady = true;
        this.#options.onReady(message.types);
        break;
      case 'ended':
        if (!this.runs.has(message.run)) break;
        this.#onEnded(message.run, message.end);
        break;
      case 'unwell':
        this.#retire(message.fault);
        break;
      case 'unstarted':
        this.#runs.leaveUnstarted(message.run);
        this.#options.onFreed();
        break;
      case 'save':
        void this.#runs.save(message);
        break;
      case 'flushed':
        if (message.turn === this.#flush.turn) this.#flush.isOver();
    }
  }

  #onEnded(run: number, end: HandlerEnd): void {
    const hasFailed = end.kind === 'threw';
    this.#failures = hasFailed ? this.#failures + 1 : 0;
    this.health.note(hasFailed);
    if (hasFailed && this.#options.standsOut())
      this.#retire('handlers fail here far more often than elsewhere');
    const { work, stop } = this.runs.get(run) ?? {};
    const isExcused = hasFailed && stop === 0 && work?.isExcusable === true && this.#used > 1;
    const cause = `its cell was unwell (${this.#fault})`;
    this.#runs.leave(
      run,
      isExcused && this.isRetired()
        ? { kind: 'died', cause: `${cause}; its handler threw ${end.error.text}`, crashedAlone: false }
        : end,
    );
    this.#options.onFreed();
  }

  #retire(fault: string): void {
    if (this.isRetired()) return;
    this.#fault = fault;
    this.#options.telemetry.warn('a cell is retired', { cell: this.id, pid: this.pid, fault });
    this.#options.onFreed();
  }

  async #die(ending: CellExit): Promise<void> {
    // A process that failed with an error reports its exit, too.
    if (this.#hasExited) return;
    this.#hasExited = true;
    this.#isEnding = true;
    this.#process.end();
    await waitAtMost(LAST_MESSAGES_MS, this.#process.disconnected, this.#options.clock);
    this.#isDead = true;
    // A job that never started cannot be the cause.
    this.#runs.look();
    const death = this.#describeDeath(ending);
    this.#process.forget();
    this.#flush.isOver();
    this.#options.onDead(death);
  }

  /** A live cell without a channel cannot report results, so its jobs would never end. */
  async #endIfDeaf(): Promise<void> {
    if (!this.#hasExited) await this.#options.clock.sleep(LAST_MESSAGES_MS);
    if (this.#hasExited) return;
    this.#wasDeaf = true;
    this.#process.end();
  }

  #describeDeath(ending: CellExit): CellDeath {
    const killedFor = this.#killedFor;
    const report = this.#process.exitReport();
    const known = { ending, killedFor, report, wasDeaf: this.#wasDeaf };
    const cause = explainDeath({ ...known, memory: this.#memory, memoryBytes: this.#options.memoryBytes });
    const ageMs = this.#options.clock.monotonic() - this.#startedAt;
    const hasThrown = report?.origin === 'load' && report.error !== undefined;
    return { cause, killedFor, wasReady: this.#wasReady, hasThrown, ageMs, runs: [...this.runs.values()] };
  }
}
