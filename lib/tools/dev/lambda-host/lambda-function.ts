import type { OutputLine } from './output-line.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from './sandbox.ts';
import type { InvocationOutcome, SandboxState } from './sandbox-life.ts';

export interface LambdaFunctionOptions extends Omit<SandboxOptions, 'onOutput' | 'onChange'> {
  readonly concurrency: number;
  /** @default - the default one */
  readonly pool?: string;
  readonly observe?: (event: HostEvent) => void;
}

export interface SandboxView {
  readonly pid: number;
  readonly functionName: string;
  readonly pool?: string;
  readonly state: SandboxState;
  readonly isPaused: boolean;
  readonly startedAt: number;
  /** Absent for a process that polls its queue itself. */
  readonly invocations?: number;
  readonly event?: unknown;
  readonly busySince?: number;
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

interface SandboxSlot {
  isOld?: boolean;
  sandbox?: Sandbox;
  event?: unknown;
  busySince?: number;
  idleSince?: number;
}

export class LambdaFunction {
  readonly name: string;
  readonly #options: LambdaFunctionOptions;
  readonly #slots = new Set<SandboxSlot>();
  readonly #waiters = new Set<() => void>();
  #stopped = false;

  constructor(options: LambdaFunctionOptions) {
    this.name = options.functionName;
    this.#options = options;
  }

  async invoke(event: unknown): Promise<InvokeOutcome> {
    if (this.free() === 0) return { outcome: 'throttled' };
    const slot = [...this.#slots].find(isAvailable) ?? {};
    slot.event = event;
    slot.busySince = Date.now();
    const sandbox = slot.sandbox ?? (await this.#start(slot));
    const about = { pid: sandbox.pid, functionName: this.name, event };
    this.#tell({ kind: 'started', ...about });
    const outcome = await sandbox.invoke(event);
    delete slot.event;
    delete slot.busySince;
    slot.idleSince = Date.now();
    this.#tell({ kind: 'ended', ...about, outcome });
    this.#changed(slot);
    if (slot.isOld) await sandbox.stop();
    return outcome;
  }

  free(): number {
    if (this.#stopped) return 0;
    const available = [...this.#slots].filter(isAvailable).length;
    return available + Math.max(0, this.#options.concurrency - this.#slots.size);
  }

  whenFree(signal: AbortSignal): Promise<void> {
    if (this.free() > 0 || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        this.#waiters.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiters.add(done);
      signal.addEventListener('abort', done);
    });
  }

  sandboxes(): readonly SandboxView[] {
    return [...this.#slots].flatMap((slot) => (slot.sandbox ? [this.#view(slot, slot.sandbox)] : []));
  }

  find(pid: number): Sandbox | undefined {
    return [...this.#slots].find((slot) => slot.sandbox?.pid === pid)?.sandbox;
  }

  async warm(count: number): Promise<void> {
    const missing = Math.min(count, this.#options.concurrency) - this.#slots.size;
    await Promise.all(Array.from({ length: Math.max(0, missing) }, () => this.#start({})));
  }

  /** Idle processes end at once, busy ones after their invocation. */
  async replaceAll(): Promise<void> {
    const all = [...this.#slots];
    for (const slot of all) slot.isOld = true;
    await Promise.all(all.map((slot) => (slot.event === undefined ? slot.sandbox?.stop() : undefined)));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#slots].map((slot) => slot.sandbox?.stop()));
  }

  async #start(slot: SandboxSlot): Promise<Sandbox> {
    const functionName = this.name;
    this.#slots.add(slot);
    try {
      const sandbox = await startSandbox({
        ...this.#options,
        onOutput: (line) => this.#tell({ kind: 'output', pid: slot.sandbox?.pid ?? 0, functionName, line }),
        onChange: () => this.#changed(slot),
      });
      slot.sandbox = sandbox;
      if (this.#stopped) await sandbox.stop();
      this.#changed(slot);
      return sandbox;
    } catch (error) {
      this.#slots.delete(slot);
      throw error;
    }
  }

  #changed(slot: SandboxSlot): void {
    if (slot.sandbox === undefined) return;
    if (slot.sandbox.state() === 'gone') this.#slots.delete(slot);
    this.#tell({ kind: 'sandbox', sandbox: this.#view(slot, slot.sandbox) });
    if (this.free() === 0) return;
    for (const resolve of [...this.#waiters]) resolve();
  }

  #tell(event: HostEvent): void {
    this.#options.observe?.(event);
  }

  #view(slot: SandboxSlot, sandbox: Sandbox): SandboxView {
    return {
      pid: sandbox.pid,
      functionName: this.name,
      pool: this.#options.pool,
      state: sandbox.state(),
      isPaused: sandbox.isPaused(),
      startedAt: sandbox.startedAt,
      invocations: sandbox.invocations(),
      event: slot.event,
      busySince: slot.busySince,
      idleSince: slot.idleSince,
      ending: sandbox.ending(),
    };
  }
}

const isAvailable = (slot: SandboxSlot): boolean =>
  slot.event === undefined && slot.sandbox !== undefined && !slot.isOld && !slot.sandbox.isPaused();
