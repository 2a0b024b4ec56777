/**
 * A stand-in for AbortController and AbortSignal with what the simulated code uses of them. Node's own, built on its EventTarget,
 * take a third of the time of a schedule. Installed only in threads that run nothing but schedules; that a seed gives the same
 * schedule there and where Node's own are used is tested.
 */
type Listener = (event: { readonly type: 'abort' }) => void;

class LightSignal {
  // Getters of the prototype, as Node's are: a handler's signal (lib/worker/cells/cell/run-handler.ts) is built on them.
  #aborted = false;
  #reason: unknown = undefined;
  readonly #listeners: Listener[] = [];

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  static any(signals: readonly LightSignal[]): LightSignal {
    const either = new LightSignal();
    for (const signal of signals)
      if (signal.aborted) either.abort(signal.reason);
      else signal.addEventListener('abort', () => either.abort(signal.reason));
    return either;
  }

  addEventListener(
    _type: 'abort',
    listener: Listener,
    options: { readonly signal?: LightSignal } = {},
  ): void {
    if (options.signal?.aborted || this.#listeners.includes(listener)) return;
    this.#listeners.push(listener);
    options.signal?.addEventListener('abort', () => this.removeEventListener('abort', listener));
  }

  removeEventListener(_type: 'abort', listener: Listener): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    // One at a time: a listener may take another one away before its turn.
    for (let next = this.#listeners.shift(); next !== undefined; next = this.#listeners.shift())
      next({ type: 'abort' });
  }
}

class LightController {
  readonly signal = new LightSignal();

  abort(reason: unknown = new Error('This operation was aborted')): void {
    this.signal.abort(reason);
  }
}

/** From here on this thread's code gets the stand-in. */
export function installLightAbort(): void {
  Object.assign(globalThis, { AbortController: LightController, AbortSignal: LightSignal });
}
