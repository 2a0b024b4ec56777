import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { libFolder, moduleExtension } from '../../this-package.ts';
import { killWithThisProcess } from './child-processes.ts';
import { createLineCutter, type OutputLine, readOutputLine } from './output-line.ts';
import { type RuntimeFailure, type RuntimeReply, startRuntimeApi } from './runtime-api.ts';

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

export type SandboxState = 'starting' | 'idle' | 'busy' | 'gone';

export type InvocationOutcome =
  | { readonly outcome: 'response'; readonly payload: unknown }
  | { readonly outcome: 'functionError'; readonly failure: RuntimeFailure };

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
const MEMORY_MB = 256;
/** How long after a process's end its last lines may still arrive. */
const OUTPUT_GRACE_MS = 250;
const RUNTIME = join(libFolder, 'local', 'lambda-host', `runtime${moduleExtension}`);

/** Variables of the surroundings that a process needs to run at all. Everything else a function sees is given. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'SystemRoot', 'LD_LIBRARY_PATH'];

interface Pending {
  readonly requestId: string;
  readonly settle: (outcome: InvocationOutcome) => void;
}

/** Cold-starts a process for the function; the runtime in it imports the bundle at once. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  let state: SandboxState = 'starting';
  let isPaused = false;
  let invocations = 0;
  let pending: Pending | undefined;
  let ending: string | undefined;
  let initFailure: RuntimeFailure | undefined;
  let timedOut = false;
  const initialised = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();

  const move = (to: SandboxState) => {
    if (state === 'gone' || state === to) return;
    state = to;
    options.onChange?.();
  };
  const settle = (outcome: InvocationOutcome) => {
    const settled = pending;
    pending = undefined;
    settled?.settle(outcome);
  };
  const api = await startRuntimeApi({
    ready() {
      move('idle');
      initialised.resolve();
    },
    initFailed(failure) {
      initFailure = failure;
    },
    replied(requestId, reply) {
      if (pending?.requestId !== requestId) return;
      move('idle');
      settle(outcomeOf(reply));
    },
  });

  const startedAt = Date.now();
  const child = spawnRuntime(options, api.address);
  const { pid } = child;
  if (pid === undefined) {
    await api.close();
    throw new Error(`no process could be started for ${options.functionName} with ${process.execPath}`);
  }
  const output = createLineCutter((line) => options.onOutput?.(readOutputLine(line, Date.now())));
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => output.push(chunk));
  }
  const initTimer = setTimeout(() => {
    timedOut = true;
    child.kill('SIGKILL');
  }, options.initTimeoutMs ?? INIT_TIMEOUT_MS);
  void initialised.promise.then(() => clearTimeout(initTimer));

  const ended = (code: number | null, signal: NodeJS.Signals | null) => {
    if (state === 'gone') return;
    clearTimeout(initTimer);
    output.end();
    ending = timedOut
      ? 'timed out'
      : signal === null
        ? `exit status ${code}`
        : `signal: ${signalWord(signal)}`;
    isPaused = false;
    move('gone');
    const limit = invocations === 0 ? (options.initTimeoutMs ?? INIT_TIMEOUT_MS) : options.timeoutMs;
    settle({
      outcome: 'functionError',
      failure: initFailure ?? deathOf(pending?.requestId ?? '', ending, timedOut ? limit : undefined),
    });
    initialised.resolve();
    void api.close().then(() => gone.resolve());
  };
  child.once('close', ended);
  // What the handler itself started may hold the pipes open forever, although the process is gone.
  child.once('exit', (code, signal) => void setTimeout(ended, OUTPUT_GRACE_MS, code, signal).unref());

  return {
    pid,
    startedAt,
    state: () => state,
    isPaused: () => isPaused,
    invocations: () => invocations,
    ending: () => ending,
    async invoke(event) {
      if (pending !== undefined)
        throw new Error(`sandbox ${pid} runs an invocation already; ask another one`);
      const requestId = randomUUID();
      const outcome = Promise.withResolvers<InvocationOutcome>();
      pending = { requestId, settle: outcome.resolve };
      await initialised.promise;
      if (state === 'gone') {
        settle({
          outcome: 'functionError',
          failure: initFailure ?? deathOf(requestId, ending ?? 'gone', undefined),
        });
        return outcome.promise;
      }
      invocations += 1;
      move('busy');
      const timer = setTimeout(() => {
        timedOut = true;
        child.kill('SIGKILL');
      }, options.timeoutMs);
      api.offer({
        requestId,
        event: JSON.stringify(event),
        deadlineAt: Date.now() + options.timeoutMs,
        functionArn: functionArn(options.functionName),
      });
      return outcome.promise.finally(() => clearTimeout(timer));
    },
    kill: () => void child.kill('SIGKILL'),
    pause() {
      if (state === 'gone' || isPaused) return;
      isPaused = child.kill('SIGSTOP');
      options.onChange?.();
    },
    resume() {
      if (!isPaused) return;
      child.kill('SIGCONT');
      isPaused = false;
      options.onChange?.();
    },
    async stop() {
      child.kill('SIGKILL');
      await gone.promise;
    },
  };
}

/** The name by which a local function would be called in an account. */
const functionArn = (name: string): string => `arn:aws:lambda:local:000000000000:function:${name}`;

function spawnRuntime(options: SandboxOptions, runtimeApi: string): ChildProcess {
  const inherited = Object.fromEntries(
    INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
  const memory = String(options.memoryMb ?? MEMORY_MB);
  const child = spawn(process.execPath, ['--enable-source-maps', `--max-old-space-size=${memory}`, RUNTIME], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      ...inherited,
      ...options.environment,
      AWS_LAMBDA_RUNTIME_API: runtimeApi,
      AWS_LAMBDA_FUNCTION_NAME: options.functionName,
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: memory,
      AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${options.functionName}`,
      AWS_LAMBDA_LOG_STREAM_NAME: `local/[$LATEST]${randomUUID().replaceAll('-', '')}`,
      AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
      AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
      LAMBDA_TASK_ROOT: options.codeDir,
      _HANDLER: options.handler,
      // A sandbox on Lambda ends with all that is in it; this one is only a process.
      __LEASEHOLD_GUARD: '1',
      TZ: ':UTC',
    },
  });
  killWithThisProcess(child);
  // A process that dies while its standard input is open is an ordinary thing here.
  child.stdin?.on('error', () => {});
  return child;
}

function outcomeOf(reply: RuntimeReply): InvocationOutcome {
  if (reply.outcome === 'error') return { outcome: 'functionError', failure: reply.failure };
  try {
    return { outcome: 'response', payload: reply.payload === '' ? null : JSON.parse(reply.payload) };
  } catch {
    const errorMessage = 'the runtime answered with something other than JSON';
    return { outcome: 'functionError', failure: { errorType: 'Runtime.MarshalError', errorMessage } };
  }
}

/** The words in which Lambda reports a process that is no more. */
function deathOf(requestId: string, ending: string, limitMs: number | undefined): RuntimeFailure {
  return limitMs === undefined
    ? {
        errorType: 'Runtime.ExitError',
        errorMessage: `RequestId: ${requestId} Error: Runtime exited with error: ${ending}`,
      }
    : {
        errorType: 'Sandbox.Timedout',
        errorMessage: `RequestId: ${requestId} Error: Task timed out after ${(limitMs / 1000).toFixed(2)} seconds`,
      };
}

const signalWord = (signal: NodeJS.Signals): string => (signal === 'SIGKILL' ? 'killed' : signal);
