import type { AbortReason } from '../../abort-reasons.ts';

/** A handler's signal, and how it is fired. */
export interface LiveSignal {
  readonly signal: AbortSignal;
  /** Looks whether the run must stop, and fires the signal if so. */
  look(): AbortReason | undefined;
  abort(reason: AbortReason): void;
}

/**
 * A signal that is never stale: `aborted`, `reason` and `throwIfAborted()` look at the lease itself, so that a handler
 * which has computed for minutes and read no message is told the truth. Listeners are told by message, or by such a look.
 */
export function createLiveSignal(reasonNow: () => AbortReason | undefined): LiveSignal {
  const controller = new AbortController();
  const { signal } = controller;
  const native = AbortSignal.prototype;
  const getter = (name: 'aborted' | 'reason'): unknown =>
    Object.getOwnPropertyDescriptor(native, name)?.get?.call(signal);
  const abort = (reason: AbortReason) => controller.abort(reason);
  const look = (): AbortReason | undefined => {
    if (getter('aborted') !== true) {
      const reason = reasonNow();
      if (reason !== undefined) abort(reason);
    }
    return getter('reason') as AbortReason | undefined;
  };
  Object.defineProperties(signal, {
    aborted: { configurable: true, get: () => look() !== undefined },
    reason: { configurable: true, get: look },
    throwIfAborted: {
      configurable: true,
      value() {
        const reason = look();
        if (reason !== undefined) throw reason;
      },
    },
  });
  return { signal, look, abort };
}
