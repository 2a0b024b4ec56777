import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { moduleExtension, packageFolder } from '../../this-package.ts';
import { poolVariables } from '../../wire/environment.ts';
import { killWithThisProcess } from './kill-with-this-process.ts';
import type { HostEvent, SandboxView } from './lambda-host/lambda-function.ts';
import { createLineCutter, readOutputLine } from './lambda-host/output-line.ts';
import type { LocalPools } from './local-pools.ts';

interface ContainersOptions {
  readonly name: string;
  readonly pool: string;
  readonly jobs: string;
  readonly loader?: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
  readonly observe: (event: HostEvent) => void;
}

const PROGRAM = join(packageFolder, 'bin', `leasehold${moduleExtension}`);
const CELLS = '1';
/** One that cannot start must not keep the machine busy. */
const RESTART_MS = 1000;

export const startContainers = (
  pools: LocalPools,
  { environment, ...options }: Omit<ContainersOptions, 'pool'>,
): readonly Containers[] =>
  Object.entries(pools)
    .filter(([, { compute }]) => compute === 'fargate')
    .map(
      ([pool]) =>
        new Containers({ ...options, pool, environment: { ...environment, [poolVariables.pool]: pool } }),
    );

interface Container {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly startedAt: number;
  state: SandboxView['state'];
  isPaused: boolean;
  ending?: string;
}

class Containers {
  readonly #options: ContainersOptions;
  readonly #functionName: string;
  readonly #running = new Set<Container>();
  #current: Container | undefined;
  #restart: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: ContainersOptions) {
    this.#options = options;
    this.#functionName = `${options.name}-${options.pool}-worker`;
    this.#start();
  }

  sandboxes(): readonly SandboxView[] {
    return [...this.#running].map((container) => this.#view(container));
  }

  find(pid: number) {
    const container = [...this.#running].find((each) => each.pid === pid);
    if (container === undefined) return undefined;
    const pause = (isPaused: boolean) => {
      if (container.isPaused === isPaused) return;
      container.child.kill(isPaused ? 'SIGSTOP' : 'SIGCONT');
      container.isPaused = isPaused;
      this.#changed(container);
    };
    return {
      kill: () => void container.child.kill('SIGKILL'),
      pause: () => pause(true),
      resume: () => pause(false),
    };
  }

  /** Like a deployment: the old one gets SIGTERM and lets its jobs finish. */
  async replaceAll(): Promise<void> {
    const old = this.#current;
    this.#start();
    old?.child.kill('SIGTERM');
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#restart);
    await Promise.all(
      [...this.#running].map(({ child }) => {
        const ended = new Promise((resolve) => child.once('exit', resolve));
        child.kill('SIGKILL');
        return ended;
      }),
    );
  }

  #start(): void {
    clearTimeout(this.#restart);
    const { jobs, environment, loader = {} } = this.#options;
    const loaders = Object.entries(loader).flatMap(([extension, name]) => [
      '--loader',
      `${extension}=${name}`,
    ]);
    const child = spawn(process.execPath, [PROGRAM, 'work', jobs, '--cells', CELLS, ...loaders], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: environment,
    });
    killWithThisProcess(child);
    const container: Container = {
      child,
      pid: child.pid ?? 0,
      startedAt: Date.now(),
      state: 'starting',
      isPaused: false,
    };
    this.#current = container;
    this.#running.add(container);
    this.#read(container);
    child.once('error', () => this.#ended(container, 'not started'));
    child.once('exit', (code, signal) =>
      this.#ended(container, signal === null ? `exit status ${code}` : `signal: ${signal}`),
    );
    this.#changed(container);
  }

  #read(container: Container): void {
    const { observe } = this.#options;
    const functionName = this.#functionName;
    for (const stream of [container.child.stdout, container.child.stderr]) {
      const output = createLineCutter((text) => {
        const line = readOutputLine(text, Date.now());
        if (container.state === 'starting' && line.kind === 'log' && line.message === 'worker starts') {
          container.state = 'idle';
          this.#changed(container);
        }
        observe({ kind: 'output', pid: container.pid, functionName, line });
      });
      stream?.setEncoding('utf8').on('data', output.push).once('close', output.end);
    }
  }

  #ended(container: Container, ending: string): void {
    if (!this.#running.delete(container)) return;
    Object.assign(container, { state: 'gone', isPaused: false, ending });
    this.#changed(container);
    if (this.#stopped || this.#current !== container) return;
    this.#restart = setTimeout(() => this.#start(), RESTART_MS);
  }

  #changed(container: Container): void {
    this.#options.observe({ kind: 'sandbox', sandbox: this.#view(container) });
  }

  #view({ pid, state, isPaused, startedAt, ending }: Container): SandboxView {
    const { pool } = this.#options;
    return { pid, functionName: this.#functionName, pool, state, isPaused, startedAt, ending };
  }
}
