import { systemClock } from '../../lib/aws/clock.ts';
import type { RunningJob } from '../../lib/protocol/job.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { createKeptTelemetry } from '../../lib/testing/kept-telemetry.ts';
import type { Kept, Origin, Run } from '../../lib/worker/cells/cells.ts';
import { createCellPool } from '../../lib/worker/cells/host/cell-pool.ts';
import { launchCell } from '../../lib/worker/cells/host/cell-process.ts';
import type { Guard } from '../../lib/worker/cells/host/guard.ts';
import { cellExecArgv } from '../../lib/worker/cells/host/memory.ts';
import { createLeaseClock, type LeaseClock, readClock } from '../../lib/worker/run/lease-clock.ts';
import type { Act } from './cell-jobs.ts';

const JOBS = new URL('./cell-jobs.ts', import.meta.url);
const CELL = new URL('../../lib/worker/cells/cell/cell-main.ts', import.meta.url);
const MIB = 1024 * 1024;

export interface StageOptions {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly cells?: number;
  readonly concurrency?: number;
  readonly processors?: number;
  readonly memoryMb?: number;
  /** @default - a share of the memory */
  readonly heapMb?: number;
  readonly spare?: boolean;
  readonly isDebugged?: boolean;
  readonly guard?: Guard;
  readonly jobs?: URL;
  readonly loadWithinMs?: number;
}

export interface StartedRun extends Run {
  readonly lease: LeaseClock;
  readonly saved: Kept[];
  /** Whether its handler has told of progress. */
  readonly hasStarted: () => boolean;
}

/** Real cells, without a store: what they run is given and seen directly. */
export function cellStage(options: StageOptions = {}) {
  const telemetry = createKeptTelemetry();
  const settings = resolveSettings(options.settings, { allowShortTimes: true });
  const jobsUrl = (options.jobs ?? JOBS).href;
  const memoryBytes = (options.memoryMb ?? 512) * MIB;
  const { guard } = options;
  const heapBytes = options.heapMb === undefined ? memoryBytes : (options.heapMb * MIB) / 0.75;
  const program = {
    file: CELL.pathname,
    execArgv: cellExecArgv(process.execArgv, heapBytes, options.isDebugged),
  };
  const cells = createCellPool({
    ...{ clock: systemClock, telemetry, settings, serviceName: 'test', memoryBytes },
    launch: (orders) => launchCell(program, orders, guard),
    ...{ jobs: jobsUrl, source: jobsUrl, onClosed: () => guard?.close() },
    ...{ processors: options.processors ?? 2, memoryForCells: () => 8 * memoryBytes },
    cells: options.cells ?? 1,
    concurrency: options.concurrency ?? 10,
    ...{ spare: options.spare, loadWithinMs: options.loadWithinMs },
  });
  let jobs = 0;
  const start = (
    act: Act | { readonly type: string; readonly payload: unknown },
    given: Readonly<Record<string, unknown>> = {},
    more: {
      readonly leaseMs?: number;
      readonly maxInCell?: number;
      readonly maxStallMs?: number;
      readonly isExcusable?: boolean;
      readonly origin?: Origin;
    } = {},
  ): StartedRun => {
    const type = typeof act === 'string' ? 'act' : act.type;
    const payload = typeof act === 'string' ? { act, ...given } : act.payload;
    const lease = createLeaseClock(systemClock, readClock(systemClock), more.leaseMs ?? 60_000);
    const saved: Kept[] = [];
    let hasStarted = false;
    const run = cells.start({
      job: jobOf(`job-${++jobs}`, type, JSON.stringify(payload)),
      ...{
        lease,
        progressIntervalMs: 1000,
        maxInCell: more.maxInCell,
        origin: more.origin,
        isExcusable: more.isExcusable,
      },
      maxStallMs: more.maxStallMs ?? settings.maxStallMs,
      async save(kept) {
        saved.push(kept);
        return 'written';
      },
      onProgress() {
        hasStarted = true;
      },
    });
    return { ...run, lease, saved, hasStarted: () => hasStarted };
  };
  return { cells, telemetry, settings, start };
}

const jobOf = (jobId: string, type: string, payload: string): RunningJob => ({
  ...{ jobId, type, payload, status: 'running', attempt: 1, errors: 0, crashes: 0, lapses: 0, releases: 0 },
  ...{
    maxAttempts: 5,
    maxCrashes: 3,
    leaseMs: 60_000,
    leaseShard: 'r0',
    leaseUntil: 0,
    leaseOwner: 'test/1',
  },
  ...{ createdAt: 0, startedAt: 0, heartbeatAt: 0, changedBy: 'test', checkpointSeq: 0 },
  ...{ cancelRequested: false, externalFields: [], claims: [], acts: [], acted: 0 },
});

export const resultOf = async (run: Run): Promise<Record<string, unknown>> => {
  const end = await run.end;
  if (end.kind !== 'returned') throw new Error(`it did not return: ${JSON.stringify(end)}`);
  return JSON.parse(end.result ?? 'null') as Record<string, unknown>;
};

export const deathOf = async (run: Run) => {
  const end = await run.end;
  if (end.kind !== 'died') throw new Error(`its cell did not die: ${JSON.stringify(end)}`);
  return end;
};

export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10));
}
