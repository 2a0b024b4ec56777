import { resolveSettings } from '../../lib/settings/settings.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import type { CellOrders } from '../../lib/worker/cells/cell-orders.ts';
import type { RunEnd } from '../../lib/worker/cells/cells.ts';
import type { FromCell, ToCell } from '../../lib/worker/cells/channel.ts';
import type { ExitReport } from '../../lib/worker/cells/exit-report.ts';
import type { CellExit } from '../../lib/worker/cells/host/cause-of-death.ts';
import { type CellDeath, createCell } from '../../lib/worker/cells/host/cell.ts';
import type { CellProcess } from '../../lib/worker/cells/host/cell-process.ts';
import { createSharedMemory } from '../../lib/worker/cells/shared-memory.ts';
import { heapBytes } from './heap-bytes.ts';
import { silentTelemetry } from './silent-ports.ts';
import { stubWork } from './stub-work.ts';

export const KILLED: CellExit = { code: null, signal: 'SIGKILL' };

/** The process of a cell that does nothing by itself: a test says what it says, shows and dies of, and sees what was done to it. */
export function puppetCell(orders?: CellOrders) {
  let onMessage: (heard: unknown) => void = () => {};
  let exit: (ending: CellExit) => void = () => {};
  const disconnected = Promise.withResolvers<void>();
  /** What it shows. */
  const shown = { pulse: 0, memory: 0, exitReport: undefined as ExitReport | undefined };
  const bytes = heapBytes();
  /** Its own side of the memory that it shares with its host. */
  const shared = createSharedMemory(bytes);
  /** What was done to it. */
  const done = { ended: 0, forgotten: 0, looks: 0 };
  const heard: ToCell[] = [];
  const process: CellProcess = {
    pid: 4711,
    shared: Object.assign(createSharedMemory(bytes), { pulse: () => shown.pulse }),
    exitReport: () => shown.exitReport,
    send: (messages) => void heard.push(...messages),
    end() {
      done.ended += 1;
    },
    memory() {
      done.looks += 1;
      return shown.memory;
    },
    onMessage(listener) {
      onMessage = listener;
    },
    onExit(listener) {
      exit = listener;
    },
    disconnected: disconnected.promise,
    forget() {
      done.forgotten += 1;
    },
  };
  const runs = () => heard.flatMap((each) => (each.kind === 'run' ? [each] : []));
  return {
    ...{ orders, process, shown, shared, done, heard, runs },
    send: (...messages: FromCell[]) => onMessage(messages),
    /** Sends what no cell of ours would. */
    sendAnything: (message: unknown) => onMessage(message),
    /** Its handler of this run has been started, or has told of progress so many times since. */
    begin(run: number, progress = 0) {
      const slot = runs().find((each) => each.run === run)?.slot ?? -1;
      shared.begin(slot, run, progress);
    },
    exit: (ending: CellExit = KILLED) => exit(ending),
    disconnect: () => disconnected.resolve(),
    /** Dies at once, channel and all. */
    die(ending: CellExit = KILLED) {
      disconnected.resolve();
      exit(ending);
    },
  };
}

export type PuppetCell = ReturnType<typeof puppetCell>;

/** A cell whose process is a puppet, with its deaths and how often a run was taken back. */
export function puppetStage() {
  const clock = createFakeClock();
  const puppet = puppetCell();
  const told = { freed: 0, deaths: [] as CellDeath[] };
  const cell = createCell({
    ...{
      id: 7,
      process: puppet.process,
      pulseMs: 250,
      settings: resolveSettings({ maxStallMs: 2500 }),
      clock,
    },
    ...{ defer: (run) => run(), memoryBytes: 1000, telemetry: silentTelemetry },
    onReady() {},
    standsOut: () => false,
    onFreed() {
      told.freed += 1;
    },
    onDead: (death) => void told.deaths.push(death),
  });
  const start = (run: number) => {
    const ends: (RunEnd | 'unstarted')[] = [];
    cell.run(run, stubWork(), (end) => void ends.push(end));
    return ends;
  };
  return { cell, clock, puppet, told, deaths: told.deaths, start };
}

/** Lets whatever was woken run on until it waits again. */
export const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
