import { waitAtMost } from '../../../protocol/wait-at-most.ts';
import type { AbortReason } from '../../abort-reasons.ts';
import type { JobOptions } from '../../define-job.ts';
import type { HandlerEnd, Work } from '../cells.ts';
import { type FromCell, readFromCell, type ToCell } from '../channel.ts';
import { createOutbox } from '../outbox.ts';
import { type CellExit, explainDeath, type KilledFor } from './cause-of-death.ts';
import type { CellPoolOptions, Timers } from './cell-pool.ts';
import type { CellProcess } from './cell-process.ts';
import { type CellRun, createCellRuns } from './cell-runs.ts';
import { keepsFailing, type RecentEnds, withEnd } from './health.ts';

interface CellOptions
  extends Pick<CellPoolOptions, 'clock' | 'telemetry' | 'settings' | 'memoryBytes' | 'loadWithinMs'>,
    Pick<Timers, 'defer'> {
  readonly id: number;
  readonly process: CellProcess;
  readonly pulseMs: number;
  onReady(types: readonly ({ readonly type: string } & JobOptions)[]): void;
  onFreed(): void;
  standsOut(): boolean;
  onDead(death: CellDeath): void;
}

export interface CellDeath {
  readonly cause: string;
  readonly killedFor?: KilledFor;
  readonly wasReady: boolean;
  readonly hasThrown: boolean;
  readonly ageMs: number;
  readonly runs: readonly CellRun[];
}

/** A result may arrive between exit and the end of the channel. */
const LAST_MESSAGES_MS = 250;
const FLUSH_MS = 1000;
const LATE_TICKS = 3;
/** Longer than a cell's limit, because a blocked cell cannot enforce it. */
const LOAD_WITHIN_MS = 35_000;
/** After this, a run that has not started moves to another cell. */
const UNSTARTED_MS = 1000;
/** Memory shares above which a cell is killed, or replaced when idle. */
const TOO_MUCH = 0.95;
const MUCH = 0.7;
const MOST_UNHEARD = 5;

export type Cell = ReturnType<typeof createCell>;

export function createCell(options: CellOptions) {
  const { id, process, clock, telemetry, settings, pulseMs, memoryBytes, onFreed } = options;
  const { pid } = process;
  const startedAt = clock.monotonic();
  const { send } = createOutbox<ToCell>((batch) => isDead || process.send(batch), options.defer);
  const cellRuns = createCellRuns(process.shared, send);
  const runs: ReadonlyMap<number, CellRun> = cellRuns.all;
  let wasReady = false;
  let isEnding = false;
  let hasExited = false;
  let isDead = false;
  let wasDeaf = false;
  let used = 0;
  let recentEnds: RecentEnds = [];
  let unheard = 0;
  let fault: string | undefined;
  let killedFor: KilledFor | undefined;
  let ticks = 0;
  let pulse = 0;
  let missedPulses = 0;
  let memory = 0;
  let memoryReadAt = Number.NEGATIVE_INFINITY;
  let flushing = { turn: 0, isOver: () => {} };

  const isReady = () => wasReady && !isEnding;
  const isRetired = () => fault !== undefined;

  const readMemory = (): void => {
    memoryReadAt = clock.monotonic();
    // A process that just ended reports none, and its last value explains the end.
    memory = process.memory() || memory;
  };

  /** Read anew, because jobs that end between ticks leave memory behind. */
  const currentMemory = (): number => {
    if (clock.monotonic() - memoryReadAt >= pulseMs && !isDead) readMemory();
    return memory;
  };

  const retire = (why: string): void => {
    if (isRetired()) return;
    fault = why;
    telemetry.warn('a cell is retired', { cell: id, pid, fault });
    onFreed();
  };

  const kill = (why: KilledFor): void => {
    isEnding = true;
    if (isDead) return;
    killedFor ??= why;
    process.end();
  };

  const moveUnstarted = (): void => {
    const late = [...runs.values()].filter((run) => !run.started && run.ticks * pulseMs > UNSTARTED_MS);
    const moved = late.filter(({ run }) => cellRuns.revokeUnstarted(run));
    if (moved.length === 0) return;
    // Its event loop turns but it receives nothing; a busy cell would send messages.
    if (missedPulses === 0 && ++unheard >= MOST_UNHEARD) retire('it does not begin what it is given');
    onFreed();
  };

  const onEnded = (run: number, end: HandlerEnd): void => {
    const hasFailed = end.kind === 'threw';
    recentEnds = withEnd(recentEnds, hasFailed);
    if (hasFailed && options.standsOut()) retire('handlers fail here far more often than elsewhere');
    const { work, stop } = runs.get(run) ?? {};
    const isExcusable = stop === 0 && work?.isExcusable === true && used > 1;
    if (end.kind === 'threw' && isExcusable && isRetired()) {
      const cause = `its cell was unwell (${fault}); its handler threw ${end.error.text}`;
      cellRuns.leave(run, { kind: 'died', cause, crashedAlone: false });
    } else cellRuns.leave(run, end);
    onFreed();
  };

  const onMessage = (message: FromCell): void => {
    unheard = 0;
    switch (message.kind) {
      case 'ready':
        if (wasReady || isEnding) break;
        wasReady = true;
        options.onReady(message.types);
        break;
      case 'ended':
        if (runs.has(message.run)) onEnded(message.run, message.end);
        break;
      case 'unwell':
        retire(message.fault);
        break;
      case 'unstarted':
        cellRuns.leaveUnstarted(message.run);
        onFreed();
        break;
      case 'save':
        void cellRuns.save(message);
        break;
      case 'flushed':
        if (message.turn === flushing.turn) flushing.isOver();
    }
  };

  const onExit = async (ending: CellExit): Promise<void> => {
    // A process that failed with an error reports its exit, too.
    if (hasExited) return;
    hasExited = true;
    isEnding = true;
    process.end();
    await waitAtMost(LAST_MESSAGES_MS, process.disconnected, clock);
    isDead = true;
    // A job that never started cannot be the cause.
    cellRuns.look();
    const report = process.exitReport();
    const cause = explainDeath({ ending, killedFor, report, wasDeaf, memory, memoryBytes });
    process.forget();
    flushing.isOver();
    const ageMs = clock.monotonic() - startedAt;
    const hasThrown = report?.origin === 'load' && report.error !== undefined;
    options.onDead({ cause, killedFor, wasReady, hasThrown, ageMs, runs: [...runs.values()] });
  };

  /** Without a channel, a cell cannot report results, so its jobs would never end. */
  const endIfDeaf = async (): Promise<void> => {
    if (!hasExited) await clock.sleep(LAST_MESSAGES_MS);
    if (hasExited) return;
    wasDeaf = true;
    process.end();
  };

  process.onMessage((received) => {
    // Its runs have already moved on.
    if (isDead) return;
    for (const message of readFromCell(received, settings)) onMessage(message);
  });
  process.onExit((ending) => void onExit(ending));
  void process.disconnected.then(endIfDeaf);

  return {
    id,
    pid,
    runs,
    isReady,
    isRetired,
    isEnding: () => isEnding,
    canServe: () => isReady() && !isRetired() && missedPulses < LATE_TICKS,
    isWorn: () => isRetired() || currentMemory() > memoryBytes * MUCH || keepsFailing(recentEnds),
    needsTicks: () => runs.size > 0 || missedPulses > 0 || isEnding || !wasReady,
    used: () => used,
    memory: currentMemory,
    recentEnds: () => recentEnds,
    run(run: number, work: Work, settle: CellRun['settle']): void {
      used += 1;
      cellRuns.start(run, work, settle);
    },
    abort(run: number, reason: AbortReason): void {
      if (!isDead) cellRuns.abort(run, reason);
    },
    async flush(): Promise<void> {
      if (!wasReady || isDead) return;
      const flushed = Promise.withResolvers<void>();
      flushing = { turn: flushing.turn + 1, isOver: flushed.resolve };
      send({ kind: 'flush', turn: flushing.turn });
      await waitAtMost(FLUSH_MS, flushed.promise, clock);
    },
    kill,
    tick(): void {
      if (isDead) return;
      const last = pulse;
      pulse = process.shared.pulse();
      ticks += 1;
      missedPulses = wasReady && pulse === last ? missedPulses + 1 : 0;
      readMemory();
      cellRuns.look();
      for (const run of runs.values()) run.ticks += 1;
      if (isEnding) return;
      const maxStallMs = Math.min(
        settings.maxStallMs,
        ...[...runs.values()].map(({ work }) => work.maxStallMs),
      );
      const { loadWithinMs = LOAD_WITHIN_MS } = options;
      if (!wasReady && ticks * pulseMs > loadWithinMs) kill('loading');
      else if (missedPulses * pulseMs > maxStallMs) kill('stalled');
      else if (memory > memoryBytes * TOO_MUCH) kill('memory');
      else moveUnstarted();
    },
  };
}
