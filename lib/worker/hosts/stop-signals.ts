const ECHO_MS = 300;

/** npm forwards Ctrl-C to its child, so the same key press can arrive twice within 300 ms. */
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
