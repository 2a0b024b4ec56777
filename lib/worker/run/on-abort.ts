type Listener = () => void;

/** Those who listen to a signal: one listener of its own serves them all. */
const listeners = new WeakMap<AbortSignal, Set<Listener>>();

/**
 * Calls the listener when the signal fires; returns how to stop listening. A signal walks through all its listeners to remove one,
 * and a host that runs a hundred jobs has a hundred on the signal that stops it.
 */
export function onAbort(signal: AbortSignal, listener: Listener): () => void {
  let own = listeners.get(signal);
  if (own === undefined) {
    const all = new Set<Listener>();
    signal.addEventListener('abort', () => {
      for (const each of all) each();
    });
    listeners.set(signal, all);
    own = all;
  }
  own.add(listener);
  return () => own.delete(listener);
}
