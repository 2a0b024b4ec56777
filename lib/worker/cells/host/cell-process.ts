import { fork } from 'node:child_process';
import { type CellOrders, ordersVariable } from '../cell-orders.ts';
import type { ToCell } from '../channel.ts';
import { createFatalReport, REPORT_DESCRIPTOR } from '../fatal-report.ts';
import { blankSlate, createSlate, type HostSlate, SLATE_DESCRIPTOR } from '../slate.ts';
import type { CellExit } from './cause-of-death.ts';
import type { Guard } from './guard.ts';
import { rssOf } from './memory.ts';

/** The process of a cell, as its host deals with it. */
export interface CellProcess {
  readonly pid: number | undefined;
  readonly slate: HostSlate;
  send(messages: readonly ToCell[]): void;
  /** Ends it and all that it has started; one that is gone already is as good. */
  end(): void;
  /** The memory that it has now, where the system tells. */
  memory(): number | undefined;
  onMessage(listener: (heard: unknown) => void): void;
  /** Told once. */
  onExit(listener: (ending: CellExit) => void): void;
  /** Resolves when nothing more can be heard from it. */
  readonly disconnected: Promise<void>;
  /** It is dead, and nobody listens any more. */
  forget(): void;
}

/** Starts the process of a cell. */
export type CellLauncher = (orders: CellOrders) => CellProcess;

/** How a cell is started. */
export interface CellProgram {
  /** The file that the process runs. */
  readonly file: string;
  readonly execArgv: readonly string[];
  /** Where cells of one host keep what they compiled. */
  readonly compileCache?: string;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where the files are that host and cell share. @default - the system's folder for such, or its memory */
  readonly folders?: readonly string[];
}

/** Starts cells as child processes. */
export function createLauncher(program: CellProgram, guard: Guard): CellLauncher {
  const launch = (orders: CellOrders, opened: { close(): void }[]): CellProcess => {
    const slate = createSlate(program.folders);
    opened.push(slate);
    const report = createFatalReport(program.folders);
    opened.push(report);
    const stdio: (number | 'inherit' | 'ignore' | 'ipc')[] = ['ignore', 'inherit', 'inherit', 'ipc'];
    stdio[SLATE_DESCRIPTOR] = slate.descriptor;
    stdio[REPORT_DESCRIPTOR] = report.descriptor;
    const child = fork(program.file, {
      // A group of its own: it is ended with whatever it has started, and Ctrl-C reaches the host alone.
      detached: true,
      serialization: 'advanced',
      execArgv: [...program.execArgv],
      stdio,
      env: {
        ...process.env,
        ...program.environment,
        ...ordersVariable({ ...orders, compileCache: program.compileCache }),
      },
    });
    const { pid } = child;
    if (pid !== undefined) guard.watch(pid);
    return {
      pid,
      slate: { ...slate, lastWords: () => slate.lastWords() ?? wordsOf(report.read()) },
      send(messages) {
        if (child.connected) child.send(messages as ToCell[], () => {});
      },
      end() {
        if (pid !== undefined) endGroup(pid);
      },
      memory: () => (pid === undefined ? undefined : rssOf(pid)),
      onMessage: (listener) => void child.on('message', listener),
      onExit(listener) {
        child.once('exit', (code, signal) => listener({ code, signal }));
        child.once('error', (error) => listener({ code: null, signal: null, error: error.message }));
      },
      disconnected: new Promise((resolve) => child.once('disconnect', () => resolve())),
      forget() {
        if (pid !== undefined) guard.forget(pid);
        for (const each of opened) each.close();
      },
    };
  };
  return (orders) => {
    const opened: { close(): void }[] = [];
    try {
      return launch(orders, opened);
    } catch (error) {
      for (const each of opened) each.close();
      return neverStarted(error);
    }
  };
}

/** A full disk, no descriptors, no memory: the cell is missed, and the host with all that it runs goes on. */
function neverStarted(error: unknown): CellProcess {
  const ending = { code: null, signal: null, error: error instanceof Error ? error.message : String(error) };
  return {
    pid: undefined,
    slate: blankSlate,
    send() {},
    end() {},
    memory: () => undefined,
    onMessage() {},
    onExit: (listener) => void setImmediate(listener, ending),
    disconnected: Promise.resolve(),
    forget() {},
  };
}

/** V8 gave no chance to say anything else. */
const wordsOf = (fatal: string | undefined): string | undefined =>
  fatal === undefined ? undefined : JSON.stringify({ origin: 'fatal', fatal });

function endGroup(pid: number): void {
  for (const target of [-pid, pid])
    try {
      process.kill(target, 'SIGKILL');
    } catch {
      // ESRCH: nobody is left.
    }
}
