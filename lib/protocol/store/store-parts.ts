import type { Settings } from '../../settings/settings.ts';
import { type Claim, isFinished, type Job } from '../job.ts';
import type { Clock, Failure, FencedOutcome, Random, Table } from '../ports.ts';
import { parseJob } from '../rows/parse-row.ts';
import type { Row, RowWrite, WriteResult } from '../writes/row-write.ts';
import type { WriteContext } from '../writes/worker-writes.ts';
import { createDataRows } from './data-rows.ts';

export interface JobStoreOptions {
  readonly table: Table;
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: Settings;
  /** Worker, reaper or operator, for `changedBy`. */
  readonly actor: string;
}

/** Whether a refused write was applied earlier and only its reply was lost. */
export type Proof = (row: Row, write: RowWrite) => boolean;

const changedByThisCall: Proof = (row, write) => row.changedBy === write.set.changedBy;

export type StoreParts = ReturnType<typeof createStoreParts>;

export function createStoreParts(options: JobStoreOptions) {
  const { table, clock, random, settings, actor } = options;
  return {
    table,
    clock,
    random,
    settings,
    data: createDataRows(options),
    context: (): WriteContext => {
      const now = clock.now();
      const expiresAt = Math.ceil((now + settings.rowRetentionMs) / 1000);
      return { changedBy: `${actor}/${random.unique()}`, now, shards: settings.shards, expiresAt };
    },
    fenced: async (write: RowWrite, proof: Proof = changedByThisCall) =>
      fencedOutcome(write, await table.apply(write), proof),
  };
}

export function fencedOutcome(write: RowWrite, result: WriteResult, proof: Proof): FencedOutcome {
  return wasApplied(write, result, proof) ? { outcome: 'written' } : lost(result.row);
}

export const wasApplied = (
  write: RowWrite,
  result: WriteResult,
  proof: Proof = changedByThisCall,
): result is WriteResult & { readonly row: Row } =>
  result.applied || (result.row !== undefined && proof(result.row, write));

/** An unreadable row does not change the refusal. */
export function lost(row: Row | undefined): { readonly outcome: 'lost'; readonly job?: Job } {
  try {
    return row === undefined ? { outcome: 'lost' } : { outcome: 'lost', job: parseJob(row) };
  } catch {
    return { outcome: 'lost' };
  }
}

export const asFailure = (error: unknown): Failure => ({ outcome: 'failed', error: error as Error });

export const hasExpired = (job: Job, now: number): boolean => isFinished(job) && job.expiresAt * 1000 <= now;

export const isOf = (claim: Claim, row: Row): boolean =>
  row.leaseOwner === claim.owner && row.attempt === claim.attempt;

export const isHeldBy = (claim: Claim, row: Row): boolean => row.status === 'running' && isOf(claim, row);

export const isAtLeast = (value: unknown, least: number): boolean =>
  typeof value === 'number' && value >= least;
