import type { Settings } from '../../settings/settings.ts';
import { type Claim, isFinished, type Job } from '../job.ts';
import type { Chance, Clock, FencedOutcome, Table } from '../ports.ts';
import { cutToBytes } from '../rows/json-text.ts';
import { parseJob } from '../rows/parse-row.ts';
import type { Row, RowWrite, WriteResult } from '../writes/row-write.ts';
import type { WriteContext } from '../writes/worker-writes.ts';
import { createDataRows, type DataRows } from './data-rows.ts';

export interface JobStoreOptions {
  readonly table: Table;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly settings: Settings;
  /** Who writes: a worker's or reaper's name, or an operator's. Part of every row's `changedBy`. */
  readonly actor: string;
}

/** Whether the row shows that a refused write had been applied before: its reply was lost, and the repeat was refused. */
export type Proof = (row: Row, write: RowWrite) => boolean;

const changedByThisCall: Proof = (row, write) => row.changedBy === write.set.changedBy;

/** What the verbs of workers, reapers and operators share. */
export interface StoreParts extends Pick<JobStoreOptions, 'table' | 'clock' | 'settings'> {
  readonly data: DataRows;
  /** A new one for every call that writes. */
  context(): WriteContext;
  /** Epoch seconds: when a row that finishes now is to be removed. */
  expiresAt(now: number): number;
  /** An error's text, cut to what a row may keep. */
  shortened(error: string): string;
  fenced(write: RowWrite, proof?: Proof): Promise<FencedOutcome>;
}

export function createStoreParts(options: JobStoreOptions): StoreParts {
  const { table, clock, chance, settings, actor } = options;
  return {
    table,
    clock,
    settings,
    data: createDataRows(options),
    context: () => ({
      changedBy: `${actor}/${chance.unique()}`,
      now: clock.now(),
      shards: settings.shards,
    }),
    expiresAt: (now) => Math.ceil((now + settings.rowRetentionMs) / 1000),
    shortened: (error) => cutToBytes(error, settings.maxErrorBytes),
    fenced: async (write, proof = changedByThisCall) => fencedOutcome(write, await table.apply(write), proof),
  };
}

export function fencedOutcome(write: RowWrite, result: WriteResult, proof: Proof): FencedOutcome {
  return wasApplied(write, result, proof) ? { outcome: 'written' } : lost(result.row);
}

/** Whether a write stands, be it that the reply to it was lost and only its repeat was refused. */
export const wasApplied = (
  write: RowWrite,
  result: WriteResult,
  proof: Proof = changedByThisCall,
): result is WriteResult & { readonly row: Row } =>
  result.applied || (result.row !== undefined && proof(result.row, write));

/** The row that refused a write only explains the refusal: where it cannot be read, the refusal stands all the same. */
export function lost(row: Row | undefined): { readonly outcome: 'lost'; readonly job?: Job } {
  try {
    return row === undefined ? { outcome: 'lost' } : { outcome: 'lost', job: parseJob(row) };
  } catch {
    return { outcome: 'lost' };
  }
}

export const hasExpired = (job: Job, now: number): boolean => isFinished(job) && job.expiresAt * 1000 <= now;

/** The last claim of this row was this one. */
export const isOf = (claim: Claim, row: Row): boolean =>
  row.leaseOwner === claim.owner && row.attempt === claim.attempt;

export const isHeldBy = (claim: Claim, row: Row): boolean => row.status === 'running' && isOf(claim, row);

export const isAtLeast = (value: unknown, least: number): boolean =>
  typeof value === 'number' && value >= least;
