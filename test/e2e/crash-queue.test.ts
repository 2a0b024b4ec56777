import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createJobsTable } from '../../lib/aws/dynamodb/create-jobs-table.ts';
import { startDynamoDb } from '../../lib/tools/dev/engines/dynamodb-engine.ts';
import { type CrashStage, setCrashStage } from '../support/crash-stage.ts';
import { isDeep } from '../support/depth.ts';
import { anyEngine, local } from '../support/engines.ts';

let stage: CrashStage;
const ends: (() => unknown)[] = [];

afterEach(async () => {
  await stage.close();
  for (const end of ends.splice(0)) await end();
});

const jobIds = Array.from({ length: 8 }, (_, i) => `job-${i}`);

describe('a queue', () => {
  it('that is purged while jobs wait, run and are retried loses none of them', async () => {
    stage = await setCrashStage({ leaseMs: 3000, backoffBaseMs: 500, backoffCapMs: 500 });
    const { stack } = stage;
    await Promise.all(
      jobIds.map((jobId, i) =>
        stack.send('journal', { steps: 2, stepMs: 200, fates: i % 2 ? { 1: 'throw' } : {} }, { jobId }),
      ),
    );
    const worker = stage.worker();
    stage.reaper();
    await Promise.all(jobIds.map((jobId) => stack.until(jobId, (job) => (job?.attempt ?? 0) >= 1)));
    const purging = setInterval(() => void stack.purge(), 50);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    worker.kill();
    await new Promise((resolve) => setTimeout(resolve, 1500));
    clearInterval(purging);
    const jobs = await stage.finished(...jobIds);
    expect(jobs.map(({ status }) => status)).toEqual(jobIds.map(() => 'done'));
  });
});

describe.runIf(isDeep)('a table whose engine is restarted with its data', () => {
  it('costs time, and no job', async () => {
    stage = await setCrashStage();
    const { stack } = stage;
    const dataDir = mkdtempSync(join(tmpdir(), 'leasehold-engine-'));
    let engine = await startDynamoDb({ engine: anyEngine().engine, dataDir });
    const { port } = new URL(engine.endpoint);
    ends.push(
      () => engine.stop(),
      () => rmSync(dataDir, { recursive: true, force: true }),
    );
    const client = createDynamoDbClient({
      clock: systemClock,
      config: { ...local, endpoint: engine.endpoint },
    });
    ends.push(() => client.destroy());
    await createJobsTable(client, stack.tableName);
    const environment = { AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint };
    await Promise.all(jobIds.map((jobId) => stack.send('journal', { steps: 8, stepMs: 150 }, { jobId })));
    stage.worker({ environment });
    stage.reaper({ environment });
    await expect
      .poll(() => stage.journal().filter(({ event }) => event === 'stored').length)
      .toBeGreaterThan(8);
    await engine.stop();
    await new Promise((resolve) => setTimeout(resolve, 500));
    engine = await startDynamoDb({ engine: anyEngine().engine, dataDir, port: Number(port) });
    await expect
      .poll(
        () =>
          new Set(
            stage
              .journal()
              .filter(({ event }) => event === 'end')
              .map(({ jobId }) => jobId),
          ).size,
      )
      .toBe(jobIds.length);
    // Steps that were stored before the restart were not done again after it.
    for (const jobId of jobIds) {
      const lines = stage.journal().filter((line) => line.jobId === jobId);
      const starts = lines.filter(({ event }) => event === 'start');
      for (const start of starts) {
        const stored = lines.filter(({ event, at }) => event === 'stored' && at < start.at);
        expect(start.step).toBe(Math.max(0, ...stored.map(({ step }) => step ?? 0)));
      }
    }
  });
});
