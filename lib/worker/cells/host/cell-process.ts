import { type ChildProcess, fork, type StdioOptions } from 'node:child_process';
import { closeSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { type CellOrders, ordersVariable } from '../cell-orders.ts';
import type { ToCell } from '../channel.ts';
import { type ExitReport, REPORT_BYTES, REPORT_DESCRIPTOR, readExitReport } from '../exit-report.ts';
import { fileBytes, SHARED_BYTES, SHARED_DESCRIPTOR, SharedMemory } from '../shared-memory.ts';
import { openUnnamedFile } from '../unnamed-file.ts';
import type { CellExit } from './cause-of-death.ts';
import { FAMILY, type Guard } from './guard.ts';
import { rssOf } from './memory.ts';

export interface CellProcess {
  readonly pid: number | undefined;
  readonly shared: SharedMemory;
  exitReport(): ExitReport | undefined;
  send(messages: readonly ToCell[]): void;
  /** Kills it with everything it started; a no-op if it is gone. */
  end(): void;
  /** Undefined if the system does not tell. */
  memory(): number | undefined;
  onMessage(listener: (heard: unknown) => void): void;
  /** Called once. */
  onExit(listener: (ending: CellExit) => void): void;
  /** Resolves when no more messages can arrive. */
  readonly disconnected: Promise<void>;
  forget(): void;
}

export interface CellProgram {
  readonly file: string;
  readonly execArgv: readonly string[];
  readonly compileCache?: string;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** For the files that host and cell share. @default - the temporary folder or shared memory */
  readonly folders?: readonly string[];
}

export function launchCell(program: CellProgram, orders: CellOrders, guard?: Guard): CellProcess {
  const opened: number[] = [];
  const close = () => {
    for (const descriptor of opened.splice(0)) closeSync(descriptor);
  };
  try {
    const shared = openUnnamedFile(SHARED_BYTES, program.folders);
    opened.push(shared);
    const report = openUnnamedFile(REPORT_BYTES, program.folders);
    opened.push(report);
    const stdio: (number | 'inherit' | 'ignore' | 'ipc')[] = ['ignore', 'inherit', 'inherit', 'ipc'];
    stdio[SHARED_DESCRIPTOR] = shared;
    stdio[REPORT_DESCRIPTOR] = report;
    const mark = `${FAMILY}.${++cells}`;
    const child = forkCell(program, orders, stdio, mark);
    if (child.pid !== undefined) guard?.watch(child.pid);
    return {
      ...dealingWith(child),
      shared: new SharedMemory(fileBytes(shared)),
      exitReport: () => readExitReport(report),
      forget() {
        if (child.pid !== undefined) guard?.forget(child.pid);
        endStrays(mark);
        close();
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

let cells = 0;

const forkCell = (
  program: CellProgram,
  orders: CellOrders,
  stdio: StdioOptions,
  mark: string,
): ChildProcess =>
  fork(program.file, {
    // Its own process group: it is killed with its children, and Ctrl-C reaches only the host.
    detached: true,
    serialization: 'advanced',
    execArgv: [...program.execArgv],
    stdio,
    env: {
      ...process.env,
      ...program.environment,
      ...ordersVariable({ ...orders, compileCache: program.compileCache }),
      ...Object.fromEntries([mark.split('=')]),
    },
  });

const dealingWith = (child: ChildProcess): Omit<CellProcess, 'shared' | 'exitReport' | 'forget'> => ({
  pid: child.pid,
  send(messages) {
    if (child.connected) child.send(messages as ToCell[], () => {});
  },
  end() {
    if (child.pid !== undefined) endGroup(child.pid);
  },
  memory: () => (child.pid === undefined ? undefined : rssOf(child.pid)),
  onMessage: (listener) => void child.on('message', listener),
  onExit(listener) {
    child.once('exit', (code, signal) => listener({ code, signal }));
    child.once('error', (error) => listener({ code: null, signal: null, error: error.message }));
  },
  disconnected: new Promise((resolve) => child.once('disconnect', () => resolve())),
});

function endGroup(pid: number): void {
  for (const target of [-pid, pid])
    try {
      process.kill(target, 'SIGKILL');
    } catch {
      // ESRCH: it is gone.
    }
}

/** Kills `detached` children of a dead cell, found by their environment. */
function endStrays(mark: string): void {
  for (const pid of existsSync('/proc') ? readdirSync('/proc') : [])
    try {
      const isStray = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark);
      if (isStray) process.kill(Number(pid), 'SIGKILL');
    } catch {
      // Not a process, not ours, or gone.
    }
}
