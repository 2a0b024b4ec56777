import { type ChildProcess, spawn } from 'node:child_process';

export interface Child {
  /** Resolves with the exit code, null after a signal. */
  readonly ended: Promise<number | null>;
  output(): string;
  kill(): Promise<void>;
}

export interface Children {
  start(
    program: string,
    args: readonly string[],
    options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
  ): Child;
  killAll(): Promise<void>;
}

/** In process groups of their own: a Ctrl-C reaches only this process, which decides when they end. */
export function createChildren(): Children {
  const living = new Set<ChildProcess>();
  process.on('exit', () => {
    for (const child of living) killGroup(child);
  });
  const start: Children['start'] = (program, args, options) => {
    const child = spawn(program, [...args], {
      ...options,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    living.add(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        output = (output + chunk).slice(-100_000);
      });
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => {
        living.delete(child);
        resolve(code);
      });
    });
    ended.catch(() => living.delete(child));
    return {
      ended,
      output: () => output,
      async kill() {
        killGroup(child);
        await ended;
      },
    };
  };
  return {
    start,
    async killAll() {
      const ends = [...living].map(
        (child) => new Promise<void>((resolve) => child.once('exit', () => resolve())),
      );
      for (const child of living) killGroup(child);
      await Promise.all(ends);
    },
  };
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
