import { randomUUID } from 'node:crypto';
import type { RuntimeFailure, RuntimeListener, RuntimeReply } from './runtime-api.ts';

export type SandboxState = 'starting' | 'idle' | 'busy' | 'gone';

export type InvocationOutcome =
  | { readonly outcome: 'response'; readonly payload: unknown }
  | { readonly outcome: 'functionError'; readonly failure: RuntimeFailure };

interface Limits {
  readonly initTimeoutMs: number;
  readonly timeoutMs: number;
}

export class SandboxLife implements RuntimeListener {
  state: SandboxState = 'starting';
  isPaused = false;
  invocations = 0;
  ending: string | undefined;
  timedOut = false;
  readonly #initialized = Promise.withResolvers<void>();
  readonly #limits: Limits;
  readonly #onChange: () => void;
  #initFailure: RuntimeFailure | undefined;
  #pending: { readonly requestId: string; settle(outcome: InvocationOutcome): void } | undefined;

  constructor(limits: Limits, onChange: () => void) {
    this.#limits = limits;
    this.#onChange = onChange;
  }

  get initialized(): Promise<void> {
    return this.#initialized.promise;
  }

  get isInvoked(): boolean {
    return this.#pending !== undefined;
  }

  ready(): void {
    this.#move('idle');
    this.#initialized.resolve();
  }

  initFailed(failure: RuntimeFailure): void {
    this.#initFailure = failure;
  }

  replied(requestId: string, reply: RuntimeReply): void {
    if (this.#pending?.requestId !== requestId) return;
    this.#move('idle');
    this.#settle(outcomeOf(reply));
  }

  take(): { readonly requestId: string; readonly outcome: Promise<InvocationOutcome> } {
    const requestId = randomUUID();
    const { promise, resolve } = Promise.withResolvers<InvocationOutcome>();
    this.#pending = { requestId, settle: resolve };
    return { requestId, outcome: promise };
  }

  /** Returns false if the process is gone, which settles the invocation. */
  begin(): boolean {
    if (this.state === 'gone') {
      this.#settleAsGone(this.ending ?? 'gone', undefined);
      return false;
    }
    this.invocations += 1;
    this.#move('busy');
    return true;
  }

  setPaused(isPaused: boolean): void {
    this.isPaused = isPaused;
    this.#onChange();
  }

  end(code: number | null, signal: NodeJS.Signals | null): void {
    this.ending = this.timedOut ? 'timed out' : describeExit(code, signal);
    this.isPaused = false;
    this.#move('gone');
    const limitMs = this.invocations === 0 ? this.#limits.initTimeoutMs : this.#limits.timeoutMs;
    this.#settleAsGone(this.ending, this.timedOut ? limitMs : undefined);
    this.#initialized.resolve();
  }

  #move(to: SandboxState): void {
    if (this.state === 'gone' || this.state === to) return;
    this.state = to;
    this.#onChange();
  }

  #settle(outcome: InvocationOutcome): void {
    const settled = this.#pending;
    this.#pending = undefined;
    settled?.settle(outcome);
  }

  #settleAsGone(ending: string, limitMs: number | undefined): void {
    const requestId = this.#pending?.requestId ?? '';
    const failure = this.#initFailure ?? deathOf(requestId, ending, limitMs);
    this.#settle({ outcome: 'functionError', failure });
  }
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

const describeExit = (code: number | null, signal: NodeJS.Signals | null): string =>
  signal === null ? `exit status ${code}` : `signal: ${signal === 'SIGKILL' ? 'killed' : signal}`;
