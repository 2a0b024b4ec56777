import type { ChildProcess } from 'node:child_process';
import { createLineCutter, type OutputLine, readOutputLine } from './output-line.ts';
import { startRuntimeApi } from './runtime-api.ts';
import { type InvocationOutcome, SandboxLife, type SandboxState } from './sandbox-life.ts';
import { spawnRuntime } from './spawn-runtime.ts';

/** What a sandbox runs and within which limits. */
export interface SandboxOptions {
  readonly functionName: string;
  /** The folder that has the bundle. */
  readonly codeDir: string;
  /** `<file>.<export>`; the file ends in `.mjs`. */
  readonly handler: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly initTimeoutMs?: number;
  readonly memoryMb?: number;
  readonly onOutput?: (line: OutputLine) => void;
  readonly onChange?: () => void;
}

/** One process that runs one invocation at a time, from its cold start to its end. */
export interface Sandbox {
  readonly pid: number;
  readonly startedAt: number;
  readonly state: () => SandboxState;
  /** Stopped by SIGSTOP, whatever else it is. */
  readonly isPaused: () => boolean;
  readonly invocations: () => number;
  /** How the process ended, once it has. */
  readonly ending: () => string | undefined;
  /** Runs the handler. A process that dies or overruns its time is a function error, never a rejection. */
  invoke(event: unknown): Promise<InvocationOutcome>;
  kill(): void;
  pause(): void;
  resume(): void;
  /** Ends the process and resolves when it is gone. */
  stop(): Promise<void>;
}

const INIT_TIMEOUT_MS = 10_000;
/** How long after a process's end its last lines may still arrive. */
const OUTPUT_GRACE_MS = 250;

/** Cold-starts a process for the function; the runtime in it imports the bundle at once. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { functionName, timeoutMs, initTimeoutMs = INIT_TIMEOUT_MS } = options;
  const life = new SandboxLife({ initTimeoutMs, timeoutMs }, () => options.onChange?.());
  const api = await startRuntimeApi(life);
  const startedAt = Date.now();
  const child = spawnRuntime(options, api.address);
  const { pid } = child;
  if (pid === undefined) {
    await api.close();
    throw new Error(`no process could be started for ${functionName} with ${process.execPath}`);
  }
  const killAfter = (ms: number) =>
    setTimeout(() => {
      life.timedOut = true;
      child.kill('SIGKILL');
    }, ms);
  const initTimer = killAfter(initTimeoutMs);
  void life.initialised.then(() => clearTimeout(initTimer));
  const gone = untilGone(child, options, life).then(() => api.close());

  return {
    pid,
    startedAt,
    state: () => life.state,
    isPaused: () => life.isPaused,
    invocations: () => life.invocations,
    ending: () => life.ending,
    async invoke(event) {
      if (life.isInvoked) throw new Error(`sandbox ${pid} runs an invocation already; ask another one`);
      const { requestId, outcome } = life.take();
      await life.initialised;
      if (!life.begin()) return outcome;
      const timer = killAfter(timeoutMs);
      const deadlineAt = Date.now() + timeoutMs;
      const functionArn = arnOf(functionName);
      api.offer({ requestId, event: JSON.stringify(event), deadlineAt, functionArn });
      return outcome.finally(() => clearTimeout(timer));
    },
    kill: () => void child.kill('SIGKILL'),
    pause() {
      if (life.state !== 'gone' && !life.isPaused) life.setPaused(child.kill('SIGSTOP'));
    },
    resume() {
      if (!life.isPaused) return;
      child.kill('SIGCONT');
      life.setPaused(false);
    },
    async stop() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/** Passes the process's output on until it has ended, which ends its life. */
async function untilGone(child: ChildProcess, options: SandboxOptions, life: SandboxLife): Promise<void> {
  const output = createLineCutter((line) => options.onOutput?.(readOutputLine(line, Date.now())));
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => output.push(chunk));
  }
  await new Promise<void>((resolve) => {
    const ended = (code: number | null, signal: NodeJS.Signals | null) => {
      if (life.state === 'gone') return;
      output.end();
      life.end(code, signal);
      resolve();
    };
    child.once('close', ended);
    // What the handler itself started may hold the pipes open forever, although the process is gone.
    child.once('exit', (code, signal) => void setTimeout(ended, OUTPUT_GRACE_MS, code, signal).unref());
  });
}

/** The name by which a local function would be called in an account. */
const arnOf = (name: string): string => `arn:aws:lambda:local:000000000000:function:${name}`;
