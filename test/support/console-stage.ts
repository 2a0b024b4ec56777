import { systemChance, systemClock } from '../../lib/aws/clock.ts';
import { type Console, type ConsoleOptions, startConsole } from '../../lib/console/start-console.ts';
import type { Hint, JobStore } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { resolveSettings, type Settings } from '../../lib/settings/settings.ts';
import { createMemoryTable, type MemoryTable } from '../../lib/testing/memory-table.ts';
import { defined } from '../../lib/wire/defined.ts';

/** A console on a table in memory: what is tested is the console, and any row can be put before it. */
export interface ConsoleStage {
  readonly console: Console;
  readonly table: MemoryTable;
  readonly store: JobStore;
  readonly settings: Settings;
  readonly hints: readonly Hint[];
  /** A request to the console with its token, unless other headers are given. */
  request(path: string, init?: RequestInit): Promise<Response>;
}

export async function startConsoleStage(options: Partial<ConsoleOptions> = {}): Promise<ConsoleStage> {
  const table = createMemoryTable();
  const settings = resolveSettings({ shards: 2, maxRunning: 100 });
  const store = createJobStore({
    table,
    clock: systemClock,
    chance: systemChance,
    settings,
    actor: 'test',
  });
  const hints: Hint[] = [];
  const queue = {
    sendHints: async (sent: readonly Hint[]) => {
      hints.push(...sent);
      return { sent: sent.length, failed: [] };
    },
  };
  const started = await startConsole({
    ...{ table, store, settings, queue },
    clock: systemClock,
    tableName: 'jobs',
    scan: async () => ({ rows: table.rows() }),
    ...options,
  });
  return {
    ...{ console: started, table, store, settings, hints },
    request: (path, init = {}) =>
      fetch(`http://127.0.0.1:${started.port}${path}`, {
        ...init,
        headers: { 'x-leasehold-token': started.token, ...init.headers },
      }),
  };
}

/** A row as a store would keep it, with any of its attributes replaced. */
export function jobRow(jobId: string, attributes: Row = {}): Row {
  const now = Date.now();
  return {
    jobId,
    type: 'test-type',
    status: 'pending',
    payload: '{}',
    attempt: 0,
    errors: 0,
    crashes: 0,
    releases: 0,
    maxAttempts: 5,
    maxCrashes: 3,
    leaseMs: 30_000,
    leaseShard: 'q0',
    leaseUntil: now + 60_000,
    notBefore: 0,
    dispatches: 1,
    createdAt: now,
    changedBy: 'test/1',
    checkpointSeq: 0,
    cancelRequested: false,
    ...attributes,
  };
}

export const finishedRow = (
  jobId: string,
  status: 'done' | 'failed' | 'cancelled',
  attributes: Row = {},
): Row => {
  const { leaseUntil: _gone, ...row } = jobRow(jobId, {
    status,
    attempt: 1,
    finishedAt: Date.now(),
    expiresAt: Math.ceil(Date.now() / 1000) + 86_400,
    ...attributes,
  });
  const listed = status === 'failed' ? { leaseShard: 'f0', leaseUntil: row.finishedAt } : {};
  return defined({ ...row, ...listed });
};
