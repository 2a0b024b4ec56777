import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';
const PERIOD_US = 100_000;
const MIB = 1024 * 1024;
let containers = 0;

/** Limits on memory and processor for processes and what they start, as a container has them: control groups of version 1. */
export interface Container {
  /** The command that runs a program inside. */
  commandFor(program: readonly string[]): string[];
  /** Those that are inside now. */
  pids(): number[];
  /** Kills all of them at once, as a container's end does. */
  kill(): void;
  /** Kills whoever is left, and removes it. */
  remove(): Promise<void>;
}

/** Whether this machine lets us make such limits. */
export const canContain = (): boolean =>
  ['memory', 'cpu'].every((name) => existsSync(join(ROOT, name, 'cgroup.procs')));

export function createContainer(limits: { readonly memoryMb?: number; readonly cpus?: number }): Container {
  containers += 1;
  const name = `leasehold-bench-${process.pid}-${containers}`;
  const groups: string[] = [];
  const group = (controller: string, values: Readonly<Record<string, number>>) => {
    const folder = join(ROOT, controller, name);
    mkdirSync(folder);
    groups.push(folder);
    for (const [file, value] of Object.entries(values)) writeFileSync(join(folder, file), String(value));
  };
  if (limits.memoryMb !== undefined) group('memory', { 'memory.limit_in_bytes': limits.memoryMb * MIB });
  if (limits.cpus !== undefined)
    group('cpu', { 'cpu.cfs_period_us': PERIOD_US, 'cpu.cfs_quota_us': Math.round(limits.cpus * PERIOD_US) });
  const pids = () =>
    readFileSync(join(groups[0] ?? '', 'cgroup.procs'), 'latin1')
      .split('\n')
      .filter(Boolean)
      .map(Number);
  const kill = () => {
    for (const pid of pids())
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has just ended.
      }
  };
  return {
    commandFor: (program) => [
      'sh',
      '-c',
      `${groups.map((folder) => `echo $$ > ${join(folder, 'cgroup.procs')}`).join(' && ')} && exec "$@"`,
      'sh',
      ...program,
    ],
    pids,
    kill,
    async remove() {
      for (let left = 100; left > 0 && pids().length > 0; left -= 1) {
        kill();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      for (const folder of groups) rmdirSync(folder);
    },
  };
}
