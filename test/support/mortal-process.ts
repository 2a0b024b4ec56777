import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The programs that suites run as processes, in order to kill them. */
export const programs = {
  worker: join(import.meta.dirname, 'journal-worker.ts'),
  reaper: join(import.meta.dirname, 'reaper-process.ts'),
} as const;

/** A process that is started again whenever it dies, as a process manager would. */
export interface MortalProcess {
  readonly pid: number;
  /** How often it died without being stopped. */
  readonly deaths: number;
  readonly output: string;
  /** Kills it; its successor starts at once, or after `absentMs`. */
  kill(absentMs?: number): void;
  /** Asks it to go; its successor starts when it has. */
  terminate(): void;
  /** Stops it in its tracks: nothing runs, time goes on. */
  pause(): void;
  resume(): void;
  /** The processes that run its handlers. */
  cells(): readonly number[];
  /** Resolves when the process, or its next successor, has started its work. */
  ready(): Promise<void>;
  /** Ends it for good, and tells its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface MortalProcessOptions {
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly execArgv?: readonly string[];
  /** Whether it comes back after a death. @default true */
  readonly revives?: boolean;
}

export function startMortalProcess(options: MortalProcessOptions): MortalProcess {
  let output = '';
  let deaths = 0;
  let stopping = false;
  let absentMs = 0;
  let started = Promise.withResolvers<void>();

  const start = (): ChildProcess => {
    const child = fork(options.program, {
      env: { ...process.env, POWERTOOLS_LOG_LEVEL: 'INFO', ...options.environment },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      execArgv: [...(options.execArgv ?? [])],
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (bytes: Buffer) => {
        output += bytes.toString();
      });
    child.once('message', () => started.resolve());
    child.once('exit', () => {
      if (stopping) return;
      deaths += 1;
      started = Promise.withResolvers<void>();
      if (options.revives === false) return;
      setTimeout(() => {
        if (!stopping) running = start();
      }, absentMs);
    });
    return child;
  };
  let running = start();

  return {
    get pid() {
      return running.pid ?? 0;
    },
    get deaths() {
      return deaths;
    },
    get output() {
      return output;
    },
    kill(absent = 0) {
      absentMs = absent;
      running.kill('SIGKILL');
    },
    terminate() {
      absentMs = 0;
      running.kill('SIGTERM');
    },
    pause: () => void signalAll(running.pid ?? 0, 'SIGSTOP'),
    resume: () => void signalAll(running.pid ?? 0, 'SIGCONT'),
    cells() {
      try {
        return childrenOf(running.pid ?? 0).filter(isCell);
      } catch {
        // It, or one of them, has just died.
        return [];
      }
    },
    ready: () => started.promise,
    async stop(signal = 'SIGKILL') {
      stopping = true;
      if (running.exitCode !== null || running.signalCode !== null) return running.exitCode;
      const exited = once(running, 'exit');
      signalAll(running.pid ?? 0, 'SIGCONT');
      running.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}

/** To a process and its cells: as when a whole machine stands still. */
function signalAll(pid: number, signal: NodeJS.Signals): void {
  for (const each of [pid, ...childrenOf(pid)]) process.kill(each, signal);
}

export const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number);

/** Its guard is a child as well. */
export const isCell = (pid: number): boolean =>
  readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('cell-main');
