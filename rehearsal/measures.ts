import { setTimeout as sleep } from 'node:timers/promises';
import { DescribeTableCommand, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import type { FailedJob, Job } from '../lib/protocol/job.ts';
import { byLease } from '../lib/wire/table.ts';
import { distribution } from './results.ts';
import { type System, untilJob } from './system.ts';

const isFailed = (job: Job): job is FailedJob => job.status === 'failed';
const isDone = (job: Job): job is Job => job.status === 'done';

export async function endCells(
  system: System,
  causes: Readonly<Record<string, RegExp>>,
  signal: AbortSignal,
): Promise<string[]> {
  const notes: string[] = [];
  for (const [type, cause] of Object.entries(causes)) {
    await system.client.send(type, {}, { jobId: `ends-${type}` });
    const job = await untilJob(system, `ends-${type}`, isFailed, { signal, withinMs: 10 * 60_000 });
    const seen = `${type}: ${job.crashes} crashes, ${job.lapses} lapses: ${job.lastError}`;
    if (!cause.test(job.lastError ?? '')) throw new Error(`the row does not name the cause. ${seen}`);
    if (job.lapses > 0) throw new Error(`the function died with its cell. ${seen}`);
    notes.push(seen);
  }
  return notes;
}

/** The simulation assumes no longer lag. */
const ASSUMED_LAG_MS = 20_000;

export async function measureIndex(system: System, times: number, signal: AbortSignal): Promise<string[]> {
  const lags: number[] = [];
  for (let n = 0; n < times; n++) {
    signal.throwIfAborted();
    const jobId = `seen-${n}`;
    const later = Date.now() + 86_400_000;
    const job = { jobId, type: 'quick', payload: '{}', leaseMs: 20_000, maxAttempts: 5, maxCrashes: 3 };
    await system.store.schedule(job, { notBefore: later, leaseUntil: later, dispatches: 0 });
    const from = performance.now();
    while (!(await system.isIndexed(jobId))) {
      if (performance.now() - from > ASSUMED_LAG_MS)
        throw new Error('a row was not in the index after 20 s, which the simulation assumes as the longest');
      await sleep(5, undefined, { signal });
    }
    lags.push(performance.now() - from);
  }
  return [distribution('from a write to its entry in the index', lags, ASSUMED_LAG_MS)];
}

const MAX_WRITE_UNITS = 20;

/** Lowers the table's maximum write units, and expects every job to be done without a charge. */
export async function throttle(system: System, jobs: number, signal: AbortSignal): Promise<string[]> {
  await limitWrites(system, MAX_WRITE_UNITS, signal);
  try {
    const jobIds = Array.from({ length: jobs }, (_, n) => `throttled-${n}`);
    await system.client.sendMany(jobIds.map((jobId) => ({ type: 'quick', options: { jobId } })));
    for (const jobId of jobIds) {
      const { crashes } = await untilJob(system, jobId, isDone, { signal, withinMs: 15 * 60_000 });
      if (crashes > 0) throw new Error(`${jobId} was charged ${crashes} crashes`);
    }
    return [`${jobs} jobs done with at most ${MAX_WRITE_UNITS} write units a second, none charged a crash`];
  } finally {
    if (!signal.aborted) await limitWrites(system, -1, signal);
  }
}

async function limitWrites({ dynamoDb, outputs }: System, MaxWriteRequestUnits: number, signal: AbortSignal) {
  const { TableName } = outputs;
  const OnDemandThroughput = { MaxReadRequestUnits: -1, MaxWriteRequestUnits };
  const Update = { IndexName: byLease.name, OnDemandThroughput };
  await dynamoDb.send(
    new UpdateTableCommand({ TableName, OnDemandThroughput, GlobalSecondaryIndexUpdates: [{ Update }] }),
  );
  for (;;) {
    const { Table } = await dynamoDb.send(new DescribeTableCommand({ TableName }));
    const states = [
      Table?.TableStatus,
      ...(Table?.GlobalSecondaryIndexes ?? []).map((index) => index.IndexStatus),
    ];
    if (states.every((state) => state === 'ACTIVE')) return;
    await sleep(2000, undefined, { signal });
  }
}
