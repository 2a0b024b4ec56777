import { fork } from 'node:child_process';
import { closeSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { type CellOrders, ordersVariable } from '../cell-orders.ts';
import type { ToCell } from '../channel.ts';
import { type ExitReport, REPORT_BYTES, REPORT_DESCRIPTOR, readExitReport } from '../exit-report.ts';
import {
  createSharedMemory,
  fileBytes,
  SHARED_BYTES,
  SHARED_DESCRIPTOR,
  type SharedMemory,
} from '../shared-memory.ts';
import { openUnnamedFile } from '../unnamed-file.ts';
import type { CellExit } from './cause-of-death.ts';
import { FAMILY, type Guard } from './guard.ts';
import { rssOf } from './memory.ts';

export interface CellProcess {
  readonly pid: number | undefined;
  readonly shared: SharedMemory;
  exitReport(): ExitReport | undefined;
  send(messages: readonly ToCell[]): void;
  end(): void;
  memory(): number | undefined;
  onMessage(listener: (received: unknown) => void): void;
  onExit(listener: (ending: CellExit) => void): void;
  /** Resolves when no more messages can arrive. */
  readonly disconnected: Promise<void>;
  forget(): void;
}

export interface CellProgram {
  readonly file: string;
  readonly execArgv: readonly string[];
  readonly compileCache?: string;
}

export function launchCell(program: CellProgram, orders: CellOrders, guard?: Guard): CellProcess {
  const opened: number[] = [];
  const open = (bytes: number): number => {
    const descriptor = openUnnamedFile(bytes);
    opened.push(descriptor);
    return descriptor;
  };
  const close = () => {
    for (const descriptor of opened.splice(0)) closeSync(descriptor);
  };
  try {
    const shared = open(SHARED_BYTES);
    const report = open(REPORT_BYTES);
    const mark = `${FAMILY}.${++cells}`;
    const stdio: (number | 'inherit' | 'ignore' | 'ipc')[] = ['ignore', 'inherit', 'inherit', 'ipc'];
    stdio[SHARED_DESCRIPTOR] = shared;
    stdio[REPORT_DESCRIPTOR] = report;
    const child = fork(program.file, {
      // In a separate process group, so that its children die with it and Ctrl-C reaches only the host.
      detached: true,
      serialization: 'advanced',
      execArgv: [...program.execArgv],
      stdio,
      env: {
        ...process.env,
        ...ordersVariable({ ...orders, compileCache: program.compileCache }),
        ...Object.fromEntries([mark.split('=')]),
      },
    });
    const { pid } = child;
    if (pid !== undefined) guard?.watch(pid);
    return {
      pid,
      shared: createSharedMemory(fileBytes(shared)),
      exitReport: () => readExitReport(report),
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
        if (pid !== undefined) guard?.forget(pid);
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

function endGroup(pid: number): void {
  for (const target of [-pid, pid])
    try {
      process.kill(target, 'SIGKILL');
    } catch {
      // ESRCH: it is gone.
    }
}

/** Finds `detached` children of a dead cell by their environment. */
function endStrays(mark: string): void {
  for (const pid of existsSync('/proc') ? readdirSync('/proc') : [])
    try {
      const isStray = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark);
      if (isStray) process.kill(Number(pid), 'SIGKILL');
    } catch {
      // Not a process, not ours, or gone.
    }
}
