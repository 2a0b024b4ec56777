/** Nobody presses twice within this time. */
const ECHO_MS = 300;

/**
 * Calls `stop` whenever somebody wants this process to end; returns how to listen no longer. Ctrl-C in a terminal reaches npm
 * as well, which passes it on to what it started: the same press then comes twice, and counts once.
 */
export function onStopSignals(signals: readonly NodeJS.Signals[], stop: () => void): () => void {
  let heardAt = Number.NEGATIVE_INFINITY;
  const hear = () => {
    const isEcho = performance.now() - heardAt < ECHO_MS;
    heardAt = performance.now();
    if (!isEcho) stop();
  };
  for (const signal of signals) process.on(signal, hear);
  return () => {
    for (const signal of signals) process.off(signal, hear);
  };
}
