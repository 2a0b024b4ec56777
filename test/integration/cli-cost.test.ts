import type { ConsumedCapacity } from '@aws-sdk/client-dynamodb';
import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { documentClientOf } from '../../lib/aws/dynamodb/client.ts';
import { updateExpression } from '../../lib/aws/dynamodb/update-expression.ts';
import { decideReap } from '../../lib/protocol/decisions/decide-reap.ts';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import { claimOf, type Job, leaseEntryOf, type RunningJob } from '../../lib/protocol/job.ts';
import { parseJob } from '../../lib/protocol/rows/parse-row.ts';
import { rowAfter } from '../../lib/protocol/writes/evaluate.ts';
import { reviveWrite } from '../../lib/protocol/writes/operator-writes.ts';
import { type ReapAction, reapWrite } from '../../lib/protocol/writes/reaper-writes.ts';
import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import {
  checkpointWrite,
  claimWrite,
  completeWrite,
  failWrite,
  heartbeatWrite,
  releaseWrite,
  retryWrite,
} from '../../lib/protocol/writes/worker-writes.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { jobUnits } from '../../lib/tools/plan/job-units.ts';
import { type WriteUnits, writeUnits } from '../../lib/tools/plan/write-units.ts';
import { describeOnOneEngine } from '../support/engines.ts';
import { newJob } from '../support/jobs.ts';
import { type JobsTable, openJobsTable } from '../support/jobs-table.ts';

const NOW = 1_800_000_000_000;
const at = { changedBy: 'worker-1/abc', now: NOW, shards: 8 };
const dispatch = planDispatch(NOW, NOW, defaultSettings);
const expiresAt = Math.ceil(NOW / 1000) + 86_400;

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
    const first = await step(undefined, claimWrite({ job, owner: `worker-1/${jobId}`, skewMs: 2000 }, at));
    return { ...first, job: parseJob(first.after) as RunningJob };
  };

  for (const [size, payloadBytes, base] of [
    ['small', 100, 1],
    ['4 KiB', 4096, 5],
  ] as const) {
    it(`foresees what each step of a ${size} job's life consumes`, async () => {
      const { after, foreseen, reported, job } = await claimed(`life-${size.replace(' ', '')}`, payloadBytes);
      expect([foreseen, reported]).toEqual([
        { table: base, byLease: 1 },
        { table: base, byLease: 1 },
      ]);
      const claim = claimOf(job);
      const expectStep = async (before: Row, write: RowWrite, index: Partial<WriteUnits>) => {
        const result = await step(before, write);
        expect([write.transition, result.reported]).toEqual([write.transition, result.foreseen]);
        expect([write.transition, result.reported]).toEqual([
          write.transition,
          { table: base, byLease: 0, ...index },
        ]);
        return result.after;
      };
      // A beat moves the entry in the index: a delete and a put.
      const beaten = await expectStep(after, heartbeatWrite(claim, NOW + 40_000, at), { byLease: 2 });
      const kept = await expectStep(
        beaten,
        checkpointWrite(claim, { seq: 1, checkpoint: '{"page":1}' }, at),
        {},
      );
      const released = await expectStep(kept, releaseWrite(claim, { errors: 0, releases: 1, dispatch }, at), {
        byLease: 2,
      });
      const again = claimWrite({ job: { jobId: job.jobId }, owner: 'worker-2/x', skewMs: 2000 }, at);
      const running = await expectStep(released, again, { byLease: 2 });
      const second = parseJob(running) as RunningJob;
      const verdict = decideReap(leaseEntryOf(second), {
        now: NOW + 90_000,
        settings: defaultSettings,
      });
      const lapsed = await expectStep(
        running,
        reapWrite(leaseEntryOf(second), verdict as ReapAction, expiresAt, at),
        { byLease: 2 },
      );
      const third = await expectStep(
        lapsed,
        claimWrite(
          { job: { jobId: job.jobId }, owner: 'worker-3/x', skewMs: 2000 },
          { ...at, now: NOW + 90_000 },
        ),
        { byLease: 2 },
      );
      await expectStep(third, completeWrite(claimOf(parseJob(third) as RunningJob), { expiresAt }, at), {
        byLease: 1,
      });
    });
  }

  it('foresees what failing and reviving consume in the index', async () => {
    const { after, job } = await claimed('fails', 100);
    const retried = await step(
      after,
      retryWrite(claimOf(job), { errors: 1, lastError: 'boom', dispatch }, at),
    );
    expect(retried.reported).toEqual(retried.foreseen);
    const again = await step(
      retried.after,
      claimWrite({ job: { jobId: 'fails' }, owner: 'worker-2/y', skewMs: 2000 }, at),
    );
    const claim = claimOf(parseJob(again.after) as RunningJob);
    const ended = await step(again.after, failWrite(claim, { errors: 2, lastError: 'boom', expiresAt }, at));
    expect(ended.reported).toEqual({ table: 1, byLease: 2 });
    expect(ended.foreseen).toEqual(ended.reported);
    const failed = parseJob(ended.after) as Job & { status: 'failed' };
    const revived = await step(ended.after, reviveWrite(failed, dispatch, at));
    expect(revived.reported).toEqual({ table: 1, byLease: 2 });
    expect(revived.foreseen).toEqual(revived.reported);
  });

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
          claimWrite({ job: jobOf('edge-0000', bytes), owner: 'worker-1/edge-0000', skewMs: 2000 }, at),
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
