import { setTimeout as sleep } from 'node:timers/promises';
import { type ActParts, actOnJob } from '../../client/act-on-job.ts';
import type { JobStore, Table } from '../../protocol/ports.ts';
import { allShards } from '../../protocol/shards.ts';
import { allFailures } from '../../protocol/store/all-failures.ts';
import { allLeases } from '../../protocol/store/all-leases.ts';
import { BAD_MESSAGE_PREFIX } from '../../wire/table.ts';
import { matches } from './job-filter.ts';
import { summaryOfEntry, summaryOfFailure, summaryOfJob } from './job-summary.ts';
import {
  type JobAction,
  type JobFilter,
  type JobSummary,
  type TaskState,
  timeSpans,
} from './page-messages.ts';
import { replyToAction } from './reply-to-action.ts';

export interface ActOnAllParts {
  readonly actions: ActParts;
  readonly table: Pick<Table, 'query'>;
  readonly store: Pick<JobStore, 'read'>;
  readonly onActed: (jobId: string) => void;
}

/** Slow enough to stop in time, and for workers and quotas to keep up. */
const ACTS_PER_SECOND = 25;
const PAGE = 100;

const statusesOf: Readonly<Record<JobAction, readonly JobFilter['status'][]>> = {
  revive: ['failed'],
  cancel: ['pending', 'running'],
  takeBack: ['running'],
};

export const canActOnAll = (action: JobAction, { status }: JobFilter): boolean =>
  statusesOf[action].includes(status);

export class ActOnAll {
  readonly #parts: ActOnAllParts;
  #state: TaskState | undefined;
  #stopping = new AbortController();

  constructor(parts: ActOnAllParts) {
    this.#parts = parts;
  }

  get state(): TaskState | undefined {
    return this.#state;
  }

  start(action: JobAction, filter: JobFilter): boolean {
    if (this.#state?.state === 'running') return false;
    const startedAt = this.#parts.actions.clock.now();
    this.#stopping = new AbortController();
    this.#state = { action, state: 'running', startedAt, looked: 0, done: 0, refused: 0 };
    void this.#run(action, filter, startedAt).catch((error: unknown) =>
      this.#update({ state: 'failed', reason: error instanceof Error ? error.message : String(error) }),
    );
    return true;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #run(action: JobAction, filter: JobFilter, startedAt: number): Promise<void> {
    const { signal } = this.#stopping;
    for await (const job of this.#candidates(filter, startedAt)) {
      if (signal.aborted) break;
      this.#update({ looked: this.#looked + 1 });
      if (!(await this.#isMeant(job, filter, startedAt))) continue;
      const pace = sleep(1000 / ACTS_PER_SECOND);
      await this.#act(job.jobId, action);
      await pace;
    }
    this.#update({ state: signal.aborted ? 'stopped' : 'ended' });
  }

  /** A job that fails again after the start is newer, and is left alone. */
  async *#candidates({ status, since }: JobFilter, startedAt: number): AsyncGenerator<JobSummary> {
    const { table, actions } = this.#parts;
    const { shards } = actions.settings;
    if (status === 'failed') {
      const from = since === undefined ? undefined : startedAt - timeSpans[since];
      const range = { shards, pageSize: PAGE, since: from, before: startedAt };
      for await (const { failure } of allFailures(table, range)) yield summaryOfFailure(failure);
      return;
    }
    const partitions = allShards(shards)[status === 'running' ? 'running' : 'pending'];
    for await (const { entry } of allLeases(table, { shards: partitions, pageSize: PAGE }))
      if (entry !== undefined) yield summaryOfEntry(entry, startedAt);
  }

  async #isMeant(job: JobSummary, filter: JobFilter, now: number): Promise<boolean> {
    if (job.jobId.startsWith(BAD_MESSAGE_PREFIX)) return false;
    const isMatch = matches(job, filter, now);
    if (isMatch !== 'unread') return isMatch;
    const row = await this.#parts.store.read(job.jobId);
    return row !== undefined && matches(summaryOfJob(row, now), filter, now) === true;
  }

  async #act(jobId: string, action: JobAction): Promise<void> {
    const { actions, onActed } = this.#parts;
    const { ok, message } = replyToAction(await actOnJob(actions, jobId, action), action);
    const { done = 0, refused = 0, reason } = this.#state ?? {};
    this.#update(
      ok ? { done: done + 1 } : { refused: refused + 1, reason: reason ?? `${jobId}: ${message}` },
    );
    onActed(jobId);
  }

  get #looked(): number {
    return this.#state?.looked ?? 0;
  }

  #update(change: Partial<TaskState>): void {
    if (this.#state !== undefined) this.#state = { ...this.#state, ...change };
  }
}
