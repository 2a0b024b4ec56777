import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** What the start of a function took: processor time of host and cells together, time on the wall, memory of each. */
export interface Init {
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly hostPssMb: number;
  readonly cellPssMb?: number;
}

const NS_PER_MS = 1e6;
const KIB_PER_MIB = 1024;
/** What was begun in the meantime, such as a thread, comes to rest. */
const REST_MS = 500;

await import(process.argv[2] ?? '');
const wallMs = Date.now() - performance.timeOrigin;
await sleep(REST_MS);
const cells = childrenOf(process.pid);
const [cell] = cells;
const init: Init = {
  cpuMs: [process.pid, ...cells].reduce((sum, pid) => sum + cpuMsOf(pid), 0),
  wallMs,
  hostPssMb: pssMbOf(process.pid),
  cellPssMb: cell === undefined ? undefined : pssMbOf(cell),
};
for (const pid of cells) process.kill(-pid, 'SIGKILL');
process.stdout.write(`\n${JSON.stringify(init)}\n`, () => process.exit(0));

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1');
  return text.split(' ').filter(Boolean).map(Number);
}

/** All threads, to the nanosecond: `stat` counts in hundredths of a second. */
function cpuMsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const ns = (thread: string) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]);
  return threads.reduce((sum, thread) => sum + ns(thread), 0) / NS_PER_MS;
}

function pssMbOf(pid: number): number {
  const [, kib] = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')) ?? [];
  return Number(kib) / KIB_PER_MIB;
}
