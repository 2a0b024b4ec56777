import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Guard, startGuard } from '../../../worker/cells/host/guard.ts';
import { killWithThisProcess } from '../kill-with-this-process.ts';
import { EngineError } from './engine-error.ts';

export type ChildEngineOptions = {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly readyWithinMs: number;
  readonly isReady: () => Promise<boolean>;
};

export type ChildEngine = {
  readonly pid: number;
  stop(): Promise<void>;
};

const POLL_MS = 15;
const TERMINATION_GRACE_MS = 3_000;
const KEPT_OUTPUT_CHARS = 4_000;

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), TERMINATION_GRACE_MS);
  await ended;
  clearTimeout(force);
}

/** Ends the engines even if this process is killed. */
let guard: Guard | undefined;

export async function startChildEngine(options: ChildEngineOptions): Promise<ChildEngine> {
  const child = spawn(options.command, [...options.args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
    // Its own group, so that Ctrl-C does not end the engine while there is still something to write.
    detached: true,
  });
  let output = '';
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-KEPT_OUTPUT_CHARS);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  let spawnError: Error | undefined;
  child.once('error', (error) => {
    spawnError = error;
  });
  const { pid } = child;
  if (pid === undefined) {
    await sleep(0);
    throw new EngineError('ENGINE_FAILED', `${options.name} could not be started as ${options.command}.`, {
      cause: spawnError,
    });
  }
  killWithThisProcess(child);
  guard ??= startGuard();
  guard.watch(pid);
  child.once('exit', () => guard?.forget(pid));
  const giveUpAt = performance.now() + options.readyWithinMs;
  while (!(await options.isReady()) || hasEnded(child)) {
    const late = performance.now() > giveUpAt;
    if (late || hasEnded(child)) {
      await stop(child);
      const how = late
        ? `did not answer within ${options.readyWithinMs} ms`
        : `ended with ${child.signalCode ?? `exit code ${child.exitCode}`} before it answered`;
      throw new EngineError(
        'ENGINE_FAILED',
        `${options.name} ${how}. Its last output: ${output.trim() || '(none)'}`,
      );
    }
    await sleep(POLL_MS);
  }
  return { pid, stop: () => stop(child) };
}
