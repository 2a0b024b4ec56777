import { setTimeout as sleep } from 'node:timers/promises';
import type { ReportLine } from '../systems/report-line.ts';
import type { ProcessOrders, System } from '../systems/system.ts';
import type { Container } from './container.ts';
import { startProcess, type WorkerProcess } from './worker-process.ts';

/** Worker processes that are started again when they end, and what all of them have told. */
export interface Crew {
  readonly lines: () => readonly ReportLine[];
  starts(id: string): number;
  firstStart(id: string): number | undefined;
  lastEnd(id: string): number | undefined;
  /** The processes that run now. */
  readonly alive: () => readonly WorkerProcess[];
  /** How often one had to be started again. */
  readonly replaced: () => number;
  /** How many of the processes that run give no answer. */
  hung(): Promise<number>;
  killBusiestCell(): Promise<void>;
  killHosts(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** What an orchestrator takes to start a process again. */
const RESTART_MS = 1000;
const ANSWER_WITHIN_MS = 5000;

export async function startCrew(
  system: System,
  options: Pick<ProcessOrders, 'queue' | 'profile' | 'concurrency' | 'settings'> & {
    readonly processes: number;
    /** Makes the container of one process. */
    readonly container?: () => Container;
  },
): Promise<Crew> {
  const { processes, container: contain, ...orders } = options;
  const all: WorkerProcess[] = [];
  const alive = new Set<WorkerProcess>();
  const containers: Container[] = [];
  let isStopping = false;
  let replaced = 0;

  const keep = async (container: Container | undefined): Promise<void> => {
    const one = await startProcess(system, { mode: 'work', ...orders }, container);
    all.push(one);
    alive.add(one);
    void one.exited.then(async () => {
      alive.delete(one);
      await sleep(RESTART_MS);
      if (isStopping) return;
      replaced += 1;
      await keep(container);
    });
  };
  const begin = async () => {
    const container = contain?.();
    if (container !== undefined) containers.push(container);
    await keep(container);
  };
  await Promise.all(Array.from({ length: processes }, begin));

  const lines = () => all.flatMap((each) => each.lines);
  const timesOf = (event: 'start' | 'end', id: string) =>
    lines().flatMap((line) => (line.event === event && line.id === id ? [line.at] : []));
  return {
    lines,
    starts: (id) => timesOf('start', id).length,
    firstStart: (id) => timesOf('start', id).sort((a, b) => a - b)[0],
    lastEnd: (id) => timesOf('end', id).sort((a, b) => b - a)[0],
    alive: () => [...alive],
    replaced: () => replaced,
    async hung() {
      const answers = await Promise.all(
        [...alive].map((each) =>
          Promise.race([
            each.stats().then(
              () => true,
              () => false,
            ),
            sleep(ANSWER_WITHIN_MS, false),
          ]),
        ),
      );
      return answers.filter((answered) => !answered).length;
    },
    async killBusiestCell() {
      const busy = new Map<number, number>();
      for (const line of lines())
        if ((line.event === 'start' || line.event === 'end') && line.pid !== undefined)
          busy.set(line.pid, (busy.get(line.pid) ?? 0) + (line.event === 'start' ? 1 : -1));
      const [pid] = [...busy].sort((a, b) => b[1] - a[1])[0] ?? [];
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
    },
    async killHosts(count) {
      await Promise.all([...alive].slice(0, count).map((each) => each.kill()));
    },
    async stop() {
      isStopping = true;
      await Promise.all([...alive].map((each) => each.kill()));
      for (const container of containers) await container.remove();
    },
  };
}
