import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { ROW_FORMAT } from '../../lib/wire/table.ts';

/** A complete pending row as the table keeps it, with attributes of every status; `undefined` leaves one out. */
export const row = (over: Readonly<Record<string, unknown>> = {}): Row => {
  const attributes = {
    jobId: 'j1',
    type: 'report',
    status: 'pending',
    payload: '{"n":1}',
    format: ROW_FORMAT,
    leaseShard: 'q0',
    leaseUntil: 100_000,
    leaseMs: 30_000,
    leaseOwner: 'w/1',
    attempt: 1,
    errors: 0,
    crashes: 0,
    lapses: 0,
    releases: 0,
    maxAttempts: 5,
    maxCrashes: 3,
    notBefore: 0,
    dispatches: 1,
    checkpointSeq: 0,
    cancelRequested: false,
    createdAt: 50_000,
    changedBy: 'w/c1',
    startedAt: 60_000,
    heartbeatAt: 61_000,
    finishedAt: 70_000,
    expiresAt: 2_000_000_000,
    ...over,
  };
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
};

/** The row of a job that waits for its first claim. */
export const jobRow = (jobId: string, over: Readonly<Record<string, unknown>> = {}): Row =>
  row({
    ...{ jobId, type: 'test-type', payload: '{}', attempt: 0, leaseUntil: Date.now() + 60_000 },
    ...{ createdAt: Date.now(), leaseOwner: undefined, startedAt: undefined, heartbeatAt: undefined },
    ...{ finishedAt: undefined, expiresAt: undefined },
    ...over,
  });

/** The row of a job that ended just now, in its first attempt. */
export function finishedRow(
  jobId: string,
  status: 'done' | 'failed' | 'cancelled',
  over: Readonly<Record<string, unknown>> = {},
): Row {
  const { finishedAt = Date.now() } = over;
  const expiresAt = Math.ceil(Date.now() / 1000) + 86_400;
  const listed =
    status === 'failed' ? { leaseShard: 'f0', leaseUntil: finishedAt } : { leaseUntil: undefined };
  return jobRow(jobId, { status, attempt: 1, finishedAt, expiresAt, ...over, ...listed });
}
