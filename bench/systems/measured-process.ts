import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { die, lastLineOf, stampIn } from './deaths.ts';
import { tell } from './report-line.ts';
import type { BenchJob, ProcessOrders } from './system.ts';

/** The inside of a measured process: its orders, its counters, and what its jobs do. */

let requests = 0;
let countedElsewhere = (): number => requests;
const latenciesMs: number[] = [];
/** Processor time used before the first job: starting a process is not part of a job's price. */
let cpuBeforeJobsMs = 0;
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + endedChildrenCpuMs() + sumOf(childrenOf(process.pid).map(childCpuMs));
};

/** Processes that this one has started count as part of it. */
const childrenOf = (pid: number): number[] => {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1');
    return text.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
};
const MS_PER_CLOCK_TICK = 10;
const PAGE_BYTES = 4096;
const USER_TICKS = 11;
const USER_TICKS_OF_ENDED_CHILDREN = 13;
/** User and system time stand side by side. */
const ticksOf = (pid: number, at: number): number => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[at]) + Number(fields[at + 1])) * MS_PER_CLOCK_TICK;
  } catch {
    return 0;
  }
};
const childCpuMs = (pid: number): number => ticksOf(pid, USER_TICKS);
const endedChildrenCpuMs = (): number => ticksOf(process.pid, USER_TICKS_OF_ENDED_CHILDREN);
const childRss = (pid: number): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
};
const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);

/** Resolves once neither this process nor its children use the processor any more: all of them have started. */
export async function untilCalm(): Promise<void> {
  for (let calm = 0, before = cpuMs(); calm < CALM_LOOKS; ) {
    await sleep(CALM_MS);
    const now = cpuMs();
    calm = now - before < CALM_CPU_MS ? calm + 1 : 0;
    before = now;
  }
}
const CALM_MS = 100;
const CALM_CPU_MS = 15;
const CALM_LOOKS = 4;

/** From now on what is used is used for jobs: for systems whose jobs run in other processes than this one. */
export const startCounting = (): void => {
  cpuBeforeJobsMs = cpuMs();
};

/** Counts calls of a client library's method: one call is one request to the store. */
export function countCalls<T extends object>(owner: T, method: keyof T & string): void {
  const original = owner[method] as (...args: unknown[]) => unknown;
  const counted = function (this: unknown, ...args: unknown[]) {
    requests += 1;
    return original.apply(this, args);
  };
  Object.defineProperty(owner, method, { value: counted, writable: true, configurable: true });
}

/** Takes the number of requests from somewhere else. */
export const requestsFrom = (count: () => number): void => {
  countedElsewhere = count;
};

export const orders = (): ProcessOrders => JSON.parse(process.argv[2] ?? '{}') as ProcessOrders;

/** Answers the parent's questions on stdin, and ends with it. */
export function answerQuestions(): void {
  process.stdin.on('data', () => {
    tell({
      event: 'stats',
      stats: {
        requests: countedElsewhere(),
        cpuMs: cpuMs() - cpuBeforeJobsMs,
        rssBytes: process.memoryUsage.rss() + sumOf(childrenOf(process.pid).map(childRss)),
        latenciesMs,
      },
    });
    latenciesMs.length = 0;
  });
  process.stdin.on('end', () => process.exit(0));
}

/** Carries out one job, and tells when it starts and ends. The result names this process. */
export async function perform(job: BenchJob, signal?: AbortSignal): Promise<{ by: number }> {
  if (cpuBeforeJobsMs === 0) cpuBeforeJobsMs = cpuMs();
  tell({ event: 'start', id: job.id, at: Date.now(), pid: process.pid });
  signal?.addEventListener('abort', () => tell({ event: 'aborted', id: job.id, at: Date.now() }), {
    once: true,
  });
  switch (job.does) {
    case 'nothing':
      break;
    case 'sleep':
      await sleep(job.ms);
      break;
    case 'burn':
      for (const until = Date.now() + job.ms; Date.now() < until; );
      break;
    case 'spin':
      for (;;);
    case 'die':
      await sleep(job.ms);
      await dieAsTold(job);
  }
  tell({ event: 'end', id: job.id, at: Date.now(), pid: process.pid });
  return { by: process.pid };
}

async function dieAsTold({ id, how = 'SIGKILL', once }: BenchJob): Promise<void> {
  const file = once === undefined ? undefined : lastLineOf(once, id);
  if (file !== undefined && existsSync(file)) return;
  await die(how, file === undefined ? () => {} : stampIn(file));
}

/** Repeats a healthy operation for ever, and notes how long each takes until the store has accepted it. */
export async function bystand(operation: () => Promise<unknown>): Promise<never> {
  for (;;) {
    const from = performance.now();
    while (!(await operation().then(...accepted))) await sleep(2);
    latenciesMs.push(performance.now() - from);
    await sleep(2);
  }
}

const accepted = [() => true, () => false] as const;

/** Runs `take` many times over, some at once. */
export async function repeat(times: number, atOnce: number, take: () => Promise<unknown>): Promise<void> {
  let left = times;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      await take();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}
