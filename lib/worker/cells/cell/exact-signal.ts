import type { AbortReason } from '../../abort-reasons.ts';

export type ExactSignal = ReturnType<typeof createExactSignal>;

/** Reads the lease itself, so that a handler which computed for minutes without reading messages sees the truth. */
export function createExactSignal(reasonNow: () => AbortReason | undefined) {
  const controller = new AbortController();
  const signal: AbortSignal = controller.signal;
  let reason: AbortReason | undefined;
  const abort = (given: AbortReason): void => {
    reason ??= given;
    controller.abort(reason);
  };
  const look = (): AbortReason | undefined => {
    const found = reason ?? reasonNow();
    if (reason === undefined && found !== undefined) abort(found);
    return reason;
  };
  const throwIfAborted = () => {
    if (look() !== undefined) throw reason;
  };
  Object.defineProperties(signal, {
    aborted: { configurable: true, get: () => look() !== undefined },
    reason: { configurable: true, get: look },
    throwIfAborted: { configurable: true, value: throwIfAborted },
  });
  return { signal, look, abort };
}
