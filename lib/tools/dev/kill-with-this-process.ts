import type { ChildProcess } from 'node:child_process';

const running = new Set<ChildProcess>();

const killAll = () => {
  for (const child of running) child.kill('SIGKILL');
};

// An unhandled signal ends this process without an 'exit' event and would orphan the children.
const killAllUnlessHandled = (signal: NodeJS.Signals) => {
  if (process.listenerCount(signal) > 1) return;
  killAll();
  process.removeListener(signal, killAllUnlessHandled);
  process.kill(process.pid, signal);
};

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export function killWithThisProcess(child: ChildProcess): void {
  if (running.size === 0) {
    process.on('exit', killAll);
    // First in line: a `once` listener would have left the count by its turn.
    for (const signal of SIGNALS) process.prependListener(signal, killAllUnlessHandled);
  }
  running.add(child);
  child.once('exit', () => {
    running.delete(child);
    if (running.size > 0) return;
    process.removeListener('exit', killAll);
    for (const signal of SIGNALS) process.removeListener(signal, killAllUnlessHandled);
  });
}
