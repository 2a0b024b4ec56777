import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { WorkerStack } from './worker-stack.ts';

const PROGRAM = join(import.meta.dirname, 'child-worker.ts');

/** A worker process that is started again whenever it dies, as a process manager would. */
export interface SupervisedWorker {
  readonly child: ChildProcess;
  /** How often it died by itself. */
  readonly deaths: number;
  /** Everything that it wrote. */
  readonly output: string;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export function superviseWorker(stack: WorkerStack): SupervisedWorker {
  let output = '';
  let deaths = 0;
  let stopping = false;
  const start = () => {
    const child = fork(PROGRAM, {
      env: { ...process.env, ...stack.environment, POWERTOOLS_LOG_LEVEL: 'INFO' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      execArgv: [],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (bytes: Buffer) => {
        output += bytes.toString();
      });
    }
    child.on('exit', () => {
      if (stopping) return;
      deaths += 1;
      running = start();
    });
    return child;
  };
  let running = start();
  return {
    get child() {
      return running;
    },
    get deaths() {
      return deaths;
    },
    get output() {
      return output;
    },
    async stop(signal = 'SIGKILL') {
      stopping = true;
      const exited = once(running, 'exit');
      running.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}

/** Sweeps again and again until it is stopped. */
export function sweepOften(stack: WorkerStack, everyMs = 100): () => Promise<void> {
  const stop = new AbortController();
  const sweeping = (async () => {
    while (!stop.signal.aborted) {
      await stack.sweep();
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  })();
  return async () => {
    stop.abort();
    await sweeping;
  };
}
