import { claimOf, type RunningJob } from '../../lib/protocol/job.ts';
import type { Chance, Clock, Hint, JobStore, Table, Telemetry } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { WatchDeps } from '../../lib/reaper/watch.ts';
import { resolveSettings, type Settings } from '../../lib/settings/settings.ts';
import { createHandChance } from '../../lib/testing/hand-chance.ts';
import type { LeaseholdEvent } from '../../lib/wire/events.ts';

/** Telemetry that remembers everything. */
interface KeptTelemetry extends Telemetry {
  readonly lines: {
    readonly level: 'info' | 'warn' | 'error';
    readonly message: string;
    readonly fields: object;
  }[];
  readonly values: Map<string, number[]>;
  total(metric: string): number;
  last(metric: string): number | undefined;
}

function keptTelemetry(): KeptTelemetry {
  const lines: KeptTelemetry['lines'] = [];
  const values = new Map<string, number[]>();
  const add = (metric: string, value: number) =>
    void values.set(metric, [...(values.get(metric) ?? []), value]);
  return {
    lines,
    values,
    total: (metric) => (values.get(metric) ?? []).reduce((sum, value) => sum + value, 0),
    last: (metric) => values.get(metric)?.at(-1),
    info: (message, fields = {}) => void lines.push({ level: 'info', message, fields }),
    warn: (message, fields = {}) => void lines.push({ level: 'warn', message, fields }),
    error: (message, error, fields = {}) =>
      void lines.push({ level: 'error', message, fields: { ...fields, error } }),
    count: (metric, value = 1) => add(metric, value),
    gauge: add,
  };
}

/** A reaper's surroundings, with everything it sends kept for looking at. */
export interface ReaperStage {
  readonly deps: WatchDeps;
  readonly store: JobStore;
  readonly settings: Settings;
  readonly hints: Hint[];
  readonly events: LeaseholdEvent[];
  readonly telemetry: KeptTelemetry;
  /** Claims a job and lets its worker say nothing more. */
  claim(jobId: string, options?: { leaseMs?: number; maxCrashes?: number }): Promise<RunningJob>;
}

/** Sets the stage on any table and clock. */
export function reaperStage(options: {
  readonly table: Table;
  readonly clock: Clock;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly name?: string;
  readonly chance?: Chance;
  readonly more?: Partial<WatchDeps>;
}): ReaperStage {
  const { table, clock, name = 'reaper/1', chance = createHandChance() } = options;
  const settings = resolveSettings({ shards: 4, ...options.settings });
  const store = createJobStore({ table, clock, chance, settings, actor: name });
  const hints: Hint[] = [];
  const events: LeaseholdEvent[] = [];
  const telemetry = keptTelemetry();
  const queue = {
    sendHints: async (more: readonly Hint[]) => {
      hints.push(...more);
      return { sent: more.length, failed: [] };
    },
  };
  const deps: WatchDeps = {
    name,
    table,
    store,
    queue,
    telemetry,
    events: { publish: async (more) => void events.push(...more) },
    clock,
    settings,
    ...options.more,
  };
  return {
    deps,
    store,
    settings,
    hints,
    events,
    telemetry,
    async claim(jobId, { leaseMs = settings.leaseMs, maxCrashes = settings.maxCrashes } = {}) {
      const { maxAttempts } = settings;
      const job = { jobId, type: 'email', payload: '{}', leaseMs, maxAttempts, maxCrashes };
      const outcome = await store.claim({ job, owner: `worker/${chance.unique()}` });
      if (outcome.outcome !== 'claimed')
        throw new Error(`job '${jobId}' was not claimed: ${outcome.outcome}`);
      return outcome.job;
    },
  };
}

/** Extends a running job's lease as a worker's heart would. */
export const beat = (store: JobStore, job: RunningJob, now: number) =>
  store.heartbeat(claimOf(job), now + job.leaseMs);
