import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock as clock, systemChance } from '../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { createSqsClient } from '../../lib/aws/sqs/client.ts';
import { createSqsQueue } from '../../lib/aws/sqs/sqs-queue.ts';
import { type FinishedJob, isFinished } from '../../lib/protocol/job.ts';
import type { JobStore } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { type LocalStack, startLocalStack } from '../../lib/tools/dev/stack.ts';
import { jobBody } from '../../lib/wire/message.ts';
import { anyEngine, local, sqsEndpoint, uniqueName } from '../support/engines.ts';
import { readJournal } from '../support/journal.ts';
import type { Fate } from '../support/journal-job.ts';

const FUNCTION_TIMEOUT_MS = 6000;

/** The deployed system on this machine: bundled functions in a Lambda-like host, an SQS trigger, a scheduled reaper. */
describe('a worker function', () => {
  let stack: LocalStack;
  let store: JobStore;
  let client: DynamoDBClient;
  let send: (jobId: string, fates: Record<string, Fate>, steps?: number) => Promise<unknown>;
  const ends: (() => unknown)[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-journal-'));
  const file = join(folder, 'journal.jsonl');

  const functionErrors: string[] = [];
  beforeAll(async () => {
    stack = await startLocalStack({
      name: uniqueName('lambda'),
      surroundings: {
        AWS_ENDPOINT_URL_DYNAMODB: anyEngine().endpoint,
        AWS_ENDPOINT_URL_SQS: sqsEndpoint(),
        AWS_REGION: local.region,
      },
      settings: {
        // Leases are long and ended by hand: none may lapse because the machine is busy.
        ...{ timeScale: 20, leaseMs: 30_000, skewMs: 200, dispatchLeaseMs: 2000 },
        ...{ functionTimeoutMs: FUNCTION_TIMEOUT_MS, visibilityTimeoutMs: 9000, deadlineMarginMs: 3000 },
        ...{ reaperIntervalMs: 3000, minSweepIntervalMs: 50, leaderLeaseMs: 750 },
        ...{
          backoffBaseMs: 0,
          backoffCapMs: 0,
          shards: 1,
          maxRunning: 50,
          maxStallMs: 800,
          killAfterMs: 200,
        },
      },
      workers: 2,
      entries: { worker: join(import.meta.dirname, '../support/journal-function.ts') },
    });
    stack.listen((event) => {
      if (event.kind === 'ended' && event.outcome.outcome === 'functionError')
        functionErrors.push(event.outcome.failure.errorMessage);
    });
    client = createDynamoDbClient({ clock, config: { ...local, endpoint: anyEngine().endpoint } });
    const sqs = createSqsClient({ ...local, endpoint: sqsEndpoint() });
    const table = createDynamoDbTable({ client, tableName: stack.tableName });
    store = createJobStore({ table, clock, chance: systemChance, settings: stack.settings, actor: 'test' });
    const queue = createSqsQueue({ client: sqs, queueUrl: stack.queueUrl, clock });
    send = (jobId, fates, steps = 1) => {
      const payload = { steps, stepMs: 100, fates, journal: file };
      return queue.sendJobs([{ body: jobBody('journal', payload, { jobId, maxCrashes: 2 }) }]);
    };
    ends.push(
      () => client.destroy(),
      () => sqs.destroy(),
    );
  });
  afterAll(async () => {
    await stack.stop();
    for (const end of ends) end();
    rmSync(folder, { recursive: true, force: true });
  });

  const finished = async (jobId: string): Promise<FinishedJob> => {
    for (;;) {
      const job = await store.read(jobId);
      if (job !== undefined && isFinished(job)) return job;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };

  it.each(['exit', 'kill', 'exhaustMemory', 'spin'] as const)(
    'that ends by %s is followed by one that does the job',
    async (fate) => {
      await send(fate, { 1: fate });
      const job = await finished(fate);
      // In the same invocation, unless that had no time left.
      expect(job).toMatchObject({ status: 'done', errors: 0, result: { attempt: job.attempt } });
      expect(job.claims[0]).toMatchObject({ outcome: 'crashed' });
      expect(functionErrors).toEqual([]);
      // The step that the first one stored is not done again.
      const effects = readJournal(file).filter((line) => line.jobId === fate && line.event === 'effect');
      expect(effects.map(({ attempt }) => attempt)).toEqual([1]);
    },
  );

  it('whose handler hangs every time quarantines it, without a function error', async () => {
    await send('hangs', Object.fromEntries(Array.from({ length: 9 }, (_, i) => [i + 1, 'spin'])));
    const job = await finished('hangs');
    expect(job).toMatchObject({
      status: 'failed',
      crashes: 2,
      lastError: expect.stringMatching(/maxStallMs/),
    });
    expect(functionErrors).toEqual([]);
  });

  it('that needs more time than an invocation has hands its job on, for nothing', async () => {
    await send('long', {}, 45);
    const job = await finished('long');
    expect(job).toMatchObject({ status: 'done', errors: 0, crashes: 0 });
    expect(job.releases).toBeGreaterThanOrEqual(1);
    expect(job.attempt).toBe(1 + job.releases);
    // Each step once, but for the one that the deadline interrupted.
    const steps = readJournal(file).filter((line) => line.jobId === 'long' && line.event === 'stored');
    expect(steps.map(({ step }) => step)).toEqual(Array.from({ length: 45 }, (_, i) => i + 1));
  });
});
