import type { ChildProcess } from 'node:child_process';

const running = new Set<ChildProcess>();

const killAll = () => {
  for (const child of running) child.kill('SIGKILL');
};

/** Sees to it that the child is gone when this process ends in an ordinary way. */
export function killWithThisProcess(child: ChildProcess): void {
  if (running.size === 0) process.on('exit', killAll);
  running.add(child);
  child.once('exit', () => {
    running.delete(child);
    if (running.size === 0) process.removeListener('exit', killAll);
  });
}
