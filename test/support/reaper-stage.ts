import { claimOf, type RunningJob } from '../../lib/protocol/job.ts';
import type { Clock, Hint, JobStore, Random, Table } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { ReapDeps } from '../../lib/reaper/reap.ts';
import { resolveSettings, type Settings } from '../../lib/settings/settings.ts';
import { createFakeRandom } from '../../lib/testing/fake-random.ts';
import { createKeptTelemetry, type KeptTelemetry } from '../../lib/testing/kept-telemetry.ts';
import type { LeaseholdEvent } from '../../lib/wire/events.ts';
import { newJob } from './jobs.ts';

/** A reaper's surroundings, with everything it sends kept for looking at. */
export interface ReaperStage {
  readonly deps: ReapDeps;
  readonly store: JobStore;
  readonly settings: Settings;
  readonly hints: Hint[];
  readonly events: LeaseholdEvent[];
  readonly telemetry: KeptTelemetry;
  /** Claims a job and lets its worker say nothing more. */
  claim(jobId: string, options?: { leaseMs?: number; maxAttempts?: number }): Promise<RunningJob>;
}

/** Sets the stage on any table and clock. */
export function reaperStage(options: {
  readonly table: Table;
  readonly clock: Clock;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly name?: string;
  readonly random?: Random;
  readonly more?: Partial<ReapDeps>;
}): ReaperStage {
  const { table, clock, name = 'reaper/1', random = createFakeRandom() } = options;
  const settings = resolveSettings({ shards: 4, ...options.settings }, { allowShortTimes: true });
  const store = createJobStore({ table, clock, random, settings, actor: name });
  const hints: Hint[] = [];
  const events: LeaseholdEvent[] = [];
  const telemetry = createKeptTelemetry();
  const queue = {
    sendHints: async (more: readonly Hint[]) => {
      hints.push(...more);
      return { sent: more.length, failed: [] };
    },
  };
  const deps: ReapDeps = {
    name,
    table,
    store,
    queue,
    telemetry,
    events: { publish: async (more) => void events.push(...more) },
    clock,
    random,
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
    async claim(jobId, { leaseMs = settings.leaseMs, maxAttempts = settings.maxAttempts } = {}) {
      const job = newJob(jobId, { type: 'email', leaseMs, maxAttempts, maxCrashes: settings.maxCrashes });
      const outcome = await store.claim({ job, owner: `worker/${random.unique()}` });
      if (outcome.outcome !== 'claimed')
        throw new Error(`job '${jobId}' was not claimed: ${outcome.outcome}`);
      return outcome.job;
    },
  };
}

/** Extends a running job's lease as a worker's heart would. */
export const beat = (store: JobStore, job: RunningJob, now: number) =>
  store.heartbeat(claimOf(job), now + job.leaseMs);
