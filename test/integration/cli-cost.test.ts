import type { ConsumedCapacity } from '@aws-sdk/client-dynamodb';
import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { documentClientOf } from '../../lib/aws/dynamodb/client.ts';
import { updateExpression } from '../../lib/aws/dynamodb/update-expression.ts';
import type { RunningJob } from '../../lib/protocol/job.ts';
import { parseJob } from '../../lib/protocol/rows/parse-row.ts';
import { rowAfter } from '../../lib/protocol/writes/evaluate.ts';
import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import { claimWrite } from '../../lib/protocol/writes/worker-writes.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { jobUnits } from '../../lib/tools/plan/job-units.ts';
import { type WriteUnits, writeUnits } from '../../lib/tools/plan/write-units.ts';
import { describeOnOneEngine } from '../support/engines.ts';
import { newJob } from '../support/jobs.ts';
import { type JobsTable, openJobsTable } from '../support/jobs-table.ts';

const NOW = 1_800_000_000_000;
const at = { changedBy: 'worker-1/abc', now: NOW, shards: 8, expiresAt: Math.ceil(NOW / 1000) + 86_400 };

/** What the engine says that a write consumed, by table and index. */
const consumed = (capacity: ConsumedCapacity | undefined): WriteUnits => {
  const units = (each: { CapacityUnits?: number; WriteCapacityUnits?: number } | undefined) =>
    each?.WriteCapacityUnits ?? each?.CapacityUnits ?? 0;
  return {
    table: units(capacity?.Table),
    byLease: units(capacity?.GlobalSecondaryIndexes?.byLease),
  };
};

describeOnOneEngine('the cost model', ({ endpoint }) => {
  let jobs: JobsTable;
  let documents: ReturnType<typeof documentClientOf>;
  beforeAll(async () => {
    jobs = await openJobsTable(endpoint);
    documents = documentClientOf(jobs.client);
  });
  afterAll(() => jobs.close());

  /** Applies the write and returns what the model foresees and what the engine reports. */
  const step = async (before: Row | undefined, write: RowWrite) => {
    const after = rowAfter(write, before);
    const reply = await documents.send(
      new UpdateCommand({
        ...updateExpression(write, jobs.tableName),
        ReturnConsumedCapacity: 'INDEXES',
      }),
    );
    return { after, foreseen: writeUnits(before, after), reported: consumed(reply.ConsumedCapacity) };
  };
  const jobOf = (jobId: string, payloadBytes: number) =>
    newJob(jobId, { type: 'email', payload: `"${'x'.repeat(payloadBytes - 2)}"` });
  const claimed = async (jobId: string, payloadBytes: number) => {
    const job = jobOf(jobId, payloadBytes);
    const first = await step(
      undefined,
      claimWrite({ job, owner: `worker-1/${jobId}`, skewMs: 2000, typeLimits: defaultSettings }, at),
    );
    return { ...first, job: parseJob(first.after) as RunningJob };
  };

  it('foresees the size of a row to the unit: one byte more is one unit more', async () => {
    const unitsOf = async (jobId: string, payloadBytes: number) => {
      const { foreseen, reported } = await claimed(jobId, payloadBytes);
      expect(reported).toEqual(foreseen);
      return reported.table;
    };
    const foreseen = (bytes: number) =>
      writeUnits(
        undefined,
        rowAfter(
          claimWrite(
            {
              job: jobOf('edge-0000', bytes),
              owner: 'worker-1/edge-0000',
              skewMs: 2000,
              typeLimits: defaultSettings,
            },
            at,
          ),
          undefined,
        ),
      ).table;
    let edge = 2;
    while (foreseen(edge + 1) === 1) edge++;
    // Engines may count a number's digits a little differently; the step must lie within a few bytes of the model's.
    expect(await unitsOf('edge-0001', edge - 8)).toBe(1);
    expect(await unitsOf('edge-0002', edge + 8)).toBe(2);
  });

  it('plans with the same figures', () => {
    const units = jobUnits({ payloadBytes: 100, resultBytes: 2, checkpointBytes: 0 });
    expect(units.claim).toEqual({ table: 1, byLease: 1 });
    expect(units.heartbeat).toEqual({ table: 1, byLease: 2 });
    expect(units.complete).toEqual({ table: 1, byLease: 1 });
    expect(units.reclaim).toEqual({ table: 1, byLease: 2 });
    expect(units.fail).toEqual({ table: 1, byLease: 2 });
    expect(jobUnits({ payloadBytes: 4096, resultBytes: 2, checkpointBytes: 0 }).heartbeat).toEqual({
      table: 1,
      byLease: 2,
    });
  });
});
