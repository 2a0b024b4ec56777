import type { OutputLine } from './output-line.ts';
import {
  type InvocationOutcome,
  type Sandbox,
  type SandboxOptions,
  type SandboxState,
  startSandbox,
} from './sandbox.ts';

export interface LambdaFunctionOptions extends Omit<SandboxOptions, 'onOutput' | 'onChange'> {
  /** Invocations at the same time; one more is throttled. */
  readonly concurrency: number;
  readonly observe?: (event: HostEvent) => void;
}

/** What an onlooker may know of one sandbox. */
export interface SandboxView {
  readonly pid: number;
  readonly functionName: string;
  readonly state: SandboxState;
  readonly isPaused: boolean;
  readonly startedAt: number;
  readonly invocations: number;
  /** The event that it is working on. */
  readonly event?: unknown;
  readonly busySince?: number;
  /** When its last invocation ended. */
  readonly idleSince?: number;
  readonly ending?: string;
}

export type HostEvent =
  | { readonly kind: 'sandbox'; readonly sandbox: SandboxView }
  | {
      readonly kind: 'output';
      readonly pid: number;
      readonly functionName: string;
      readonly line: OutputLine;
    }
  | { readonly kind: 'started'; readonly pid: number; readonly functionName: string; readonly event: unknown }
  | {
      readonly kind: 'ended';
      readonly pid: number;
      readonly functionName: string;
      readonly event: unknown;
      readonly outcome: InvocationOutcome;
    };

type InvokeOutcome = InvocationOutcome | { readonly outcome: 'throttled' };

/** A function with its sandboxes: warm ones are used again, a new one is started where none is free. */
export interface LambdaFunction {
  readonly name: string;
  invoke(event: unknown): Promise<InvokeOutcome>;
  /** Invocations that could start at this moment. */
  free(): number;
  /** Resolves as soon as at least one invocation could start. */
  whenFree(signal: AbortSignal): Promise<void>;
  sandboxes(): readonly SandboxView[];
  /** The live sandbox with this process id. */
  find(pid: number): Sandbox | undefined;
  /** Starts sandboxes until this many are there, so that the first events meet no cold start. */
  warm(count: number): Promise<void>;
  /** Has new processes for what comes from now on: idle ones end at once, the others after what they are doing. */
  replaceAll(): Promise<void>;
  stop(): Promise<void>;
}

interface SandboxSlot {
  isOld?: boolean;
  sandbox?: Sandbox;
  event?: unknown;
  busySince?: number;
  idleSince?: number;
}

export function createLambdaFunction(options: LambdaFunctionOptions): LambdaFunction {
  const { functionName, concurrency } = options;
  const observe = options.observe ?? (() => {});
  const held = new Set<SandboxSlot>();
  const waiters = new Set<() => void>();
  let stopped = false;

  const isAvailable = (each: SandboxSlot) =>
    each.event === undefined && each.sandbox !== undefined && !each.isOld && !each.sandbox.isPaused();
  const free = () =>
    stopped ? 0 : [...held].filter(isAvailable).length + Math.max(0, concurrency - held.size);
  const wake = () => {
    if (free() === 0) return;
    for (const resolve of [...waiters]) resolve();
  };

  const view = (each: SandboxSlot, sandbox: Sandbox): SandboxView => ({
    pid: sandbox.pid,
    functionName,
    state: sandbox.state(),
    isPaused: sandbox.isPaused(),
    startedAt: sandbox.startedAt,
    invocations: sandbox.invocations(),
    event: each.event,
    busySince: each.busySince,
    idleSince: each.idleSince,
    ending: sandbox.ending(),
  });
  const changed = (each: SandboxSlot) => {
    if (each.sandbox === undefined) return;
    if (each.sandbox.state() === 'gone') held.delete(each);
    observe({ kind: 'sandbox', sandbox: view(each, each.sandbox) });
    wake();
  };

  const start = async (each: SandboxSlot): Promise<Sandbox> => {
    held.add(each);
    try {
      const sandbox = await startSandbox({
        ...options,
        onOutput: (line) => observe({ kind: 'output', pid: each.sandbox?.pid ?? 0, functionName, line }),
        onChange: () => changed(each),
      });
      each.sandbox = sandbox;
      if (stopped) await sandbox.stop();
      changed(each);
      return sandbox;
    } catch (error) {
      held.delete(each);
      throw error;
    }
  };

  return {
    name: functionName,
    free,
    async invoke(event) {
      if (free() === 0) return { outcome: 'throttled' };
      const each = [...held].find(isAvailable) ?? {};
      each.event = event;
      each.busySince = Date.now();
      const sandbox = each.sandbox ?? (await start(each));
      observe({ kind: 'started', pid: sandbox.pid, functionName, event });
      const outcome = await sandbox.invoke(event);
      delete each.event;
      delete each.busySince;
      each.idleSince = Date.now();
      observe({ kind: 'ended', pid: sandbox.pid, functionName, event, outcome });
      changed(each);
      if (each.isOld) await sandbox.stop();
      return outcome;
    },
    whenFree(signal) {
      if (free() > 0 || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const done = () => {
          waiters.delete(done);
          signal.removeEventListener('abort', done);
          resolve();
        };
        waiters.add(done);
        signal.addEventListener('abort', done);
      });
    },
    sandboxes: () => [...held].flatMap((each) => (each.sandbox ? [view(each, each.sandbox)] : [])),
    find: (pid) => [...held].find((each) => each.sandbox?.pid === pid)?.sandbox,
    async warm(count) {
      const missing = Math.min(count, concurrency) - held.size;
      await Promise.all(Array.from({ length: Math.max(0, missing) }, () => start({})));
    },
    async replaceAll() {
      const all = [...held];
      for (const each of all) each.isOld = true;
      await Promise.all(all.map((each) => (each.event === undefined ? each.sandbox?.stop() : undefined)));
    },
    async stop() {
      stopped = true;
      await Promise.all([...held].map((each) => each.sandbox?.stop()));
    },
  };
}
