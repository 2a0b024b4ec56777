import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ProcessStats, ReportLine } from '../systems/report-line.ts';
import type { ProcessOrders, System } from '../systems/system.ts';
import type { Container } from './container.ts';

/** A measured process, seen from outside. */
export interface WorkerProcess {
  readonly pid: number;
  /** Everything it has told so far. */
  readonly lines: readonly ReportLine[];
  /** The first line, told already or yet to come, that passes; undefined when none came in time. */
  seen<T extends ReportLine>(
    test: (line: ReportLine) => line is T,
    timeoutMs: number,
  ): Promise<T | undefined>;
  starts(id?: string): number;
  stats(): Promise<ProcessStats>;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  /** Kills it with SIGKILL and resolves with the time of the kill once it is gone. */
  kill(): Promise<number>;
  readonly exited: Promise<void>;
}

const COUNTER = new URL('./count-requests.ts', import.meta.url).href;
const counts = mkdtempSync(join(tmpdir(), 'bench-counts-'));
let files = 0;
const requestsFile = () => {
  files += 1;
  const file = join(counts, `${files}`);
  writeFileSync(file, '');
  return file;
};
/** The variables that make a process write down its requests. */
const counted = () => ({ NODE_OPTIONS: `--import ${COUNTER}`, BENCH_REQUESTS_FILE: requestsFile() });
process.on('exit', () => rmSync(counts, { recursive: true, force: true }));

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a system's program, and waits until it says that it is ready. */
export async function startProcess(
  system: Pick<System, 'name' | 'program' | 'stores'>,
  orders: Omit<ProcessOrders, 'stores'>,
  container?: Container,
): Promise<WorkerProcess> {
  const program = [process.execPath, system.program, JSON.stringify({ ...orders, stores: system.stores })];
  const [file = '', ...args] = container?.commandFor(program) ?? program;
  const child = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_NO_WARNINGS: '1',
      ...(system.name === 'leasehold' ? counted() : undefined),
    },
  });
  running.add(child);
  const lines: ReportLine[] = [];
  const listeners = new Set<() => void>();
  let complaints = '';
  child.stderr.on('data', (text) => {
    complaints = `${complaints}${text}`.slice(-2000);
  });
  createInterface({ input: child.stdout }).on('line', (text) => {
    if (!text.startsWith('{"event"')) return;
    lines.push(JSON.parse(text) as ReportLine);
    for (const listener of listeners) listener();
  });
  const exited = once(child, 'exit').then(() => {
    running.delete(child);
    for (const listener of listeners) listener();
  });

  const seen = <T extends ReportLine>(test: (line: ReportLine) => line is T, timeoutMs: number, from = 0) =>
    new Promise<T | undefined>((resolve) => {
      let next = from;
      const end = (line: T | undefined) => {
        clearTimeout(timer);
        listeners.delete(look);
        resolve(line);
      };
      const look = () => {
        for (; next < lines.length; next += 1) {
          const line = lines[next] as ReportLine;
          if (test(line)) return end(line);
        }
        if (child.exitCode !== null || child.signalCode !== null) end(undefined);
      };
      const timer = setTimeout(() => end(undefined), timeoutMs);
      listeners.add(look);
      look();
    });

  const stats = async (): Promise<ProcessStats> => {
    const from = lines.length;
    child.stdin.write('?');
    const line = await seen(
      (each): each is Extract<ReportLine, { event: 'stats' }> => each.event === 'stats',
      120_000,
      from,
    );
    if (line === undefined) throw new Error(`${system.name}: no answer from its process. ${complaints}`);
    return line.stats;
  };

  const ready = await seen((line): line is ReportLine => line.event === 'ready', 300_000);
  if (ready === undefined)
    throw new Error(
      `${system.name} (${orders.mode}) did not become ready: ${complaints || 'it said nothing'}`,
    );
  return {
    pid: child.pid ?? 0,
    lines,
    seen: (test, timeoutMs) => seen(test, timeoutMs),
    starts: (id) =>
      lines.filter((line) => line.event === 'start' && (id === undefined || line.id === id)).length,
    stats,
    signal: (name) => child.kill(name),
    async kill() {
      const at = Date.now();
      child.kill('SIGKILL');
      await exited;
      return at;
    },
    exited,
  };
}

/** The start or end of one job. */
export const isLine =
  <E extends 'start' | 'end' | 'aborted'>(event: E, id: string) =>
  (line: ReportLine): line is Extract<ReportLine, { event: 'start' | 'end' | 'aborted' }> =>
    line.event === event && line.id === id;
