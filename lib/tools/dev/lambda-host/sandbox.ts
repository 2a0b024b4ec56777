import type { ChildProcess } from 'node:child_process';
import { createLineCutter, type OutputLine, readOutputLine } from './output-line.ts';
import { startRuntimeApi } from './runtime-api.ts';
import { type InvocationOutcome, SandboxLife, type SandboxState } from './sandbox-life.ts';
import { spawnRuntime } from './spawn-runtime.ts';

export interface SandboxOptions {
  readonly functionName: string;
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

/** Lambda begins again after 10 s, with the time of the invocation; a busy machine needs longer. */
const INIT_TIMEOUT_MS = 60_000;
/** Output may arrive this long after the process ended. */
const OUTPUT_GRACE_MS = 250;

export type Sandbox = Awaited<ReturnType<typeof startSandbox>>;

export async function startSandbox(options: SandboxOptions) {
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
  void life.initialized.then(() => clearTimeout(initTimer));
  const gone = untilGone(child, options, life).then(() => api.close());

  return {
    pid,
    startedAt,
    state: (): SandboxState => life.state,
    isPaused: (): boolean => life.isPaused,
    invocations: (): number => life.invocations,
    ending: (): string | undefined => life.ending,
    /** A process that dies or times out is a function error, never a rejection. */
    async invoke(event: unknown): Promise<InvocationOutcome> {
      if (life.isInvoked) throw new Error(`sandbox ${pid} runs an invocation already; ask another one`);
      const { requestId, outcome } = life.take();
      await life.initialized;
      if (!life.begin()) return outcome;
      const timer = killAfter(timeoutMs);
      const deadlineAt = Date.now() + timeoutMs;
      const functionArn = arnOf(functionName);
      api.offer({ requestId, event: JSON.stringify(event), deadlineAt, functionArn });
      return outcome.finally(() => clearTimeout(timer));
    },
    kill: (): void => void child.kill('SIGKILL'),
    pause(): void {
      if (life.state !== 'gone' && !life.isPaused) life.setPaused(child.kill('SIGSTOP'));
    },
    resume(): void {
      if (!life.isPaused) return;
      child.kill('SIGCONT');
      life.setPaused(false);
    },
    async stop(): Promise<void> {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

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
    // Processes that the handler started may hold the pipes open forever.
    child.once('exit', (code, signal) => void setTimeout(ended, OUTPUT_GRACE_MS, code, signal).unref());
  });
}

const arnOf = (name: string): string => `arn:aws:lambda:local:000000000000:function:${name}`;
