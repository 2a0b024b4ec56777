import { systemClock, systemRandom } from '../../lib/aws/clock.ts';
import type { Hint, JobStore } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { resolveSettings, type Settings } from '../../lib/settings/settings.ts';
import { createMemoryTable, type MemoryTable } from '../../lib/testing/memory-table.ts';
import { type ConsoleOptions, startConsole } from '../../lib/tools/console/start-console.ts';

/** A console on a table in memory: what is tested is the console, and any row can be put before it. */
export interface ConsoleStage {
  readonly console: Awaited<ReturnType<typeof startConsole>>;
  readonly table: MemoryTable;
  readonly store: JobStore;
  readonly settings: Settings;
  readonly hints: readonly Hint[];
  /** A request to the console with its token, unless other headers are given. */
  request(path: string, init?: RequestInit): Promise<Response>;
}

export async function startConsoleStage(
  options: Partial<ConsoleOptions> = {},
  rows: readonly Row[] = [],
): Promise<ConsoleStage> {
  const table = createMemoryTable();
  for (const row of rows) table.put(row);
  const settings = resolveSettings({ shards: 2, maxRunning: 100 });
  const store = createJobStore({
    table,
    clock: systemClock,
    random: systemRandom,
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
