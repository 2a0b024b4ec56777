import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock as clock, systemRandom } from '../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { createSqsClient } from '../../lib/aws/sqs/client.ts';
import { createSqsQueue } from '../../lib/aws/sqs/sqs-queue.ts';
import { type FinishedJob, isFinished } from '../../lib/protocol/job.ts';
import type { JobStore } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { OutputLine } from '../../lib/tools/dev/lambda-host/output-line.ts';
import { type LocalStack, startLocalStack } from '../../lib/tools/dev/stack.ts';
import { jobBody } from '../../lib/wire/message.ts';
import { lambdaVariables, nodeAsOnLambda } from '../support/as-on-lambda.ts';
import { isDeep } from '../support/depth.ts';
import { anyEngine, local, sqsEndpoint, uniqueName } from '../support/engines.ts';
import { readJournal } from '../support/journal.ts';
import type { Fate } from '../support/journal-job.ts';

const FUNCTION_TIMEOUT_MS = 6000;

/** The deployed system on this machine: bundled functions in surroundings like Lambda's, an SQS trigger, a scheduled reaper. */
describe('a worker function', () => {
  let stack: LocalStack;
  let store: JobStore;
  let client: DynamoDBClient;
  let sqs: SQSClient;
  let send: (jobId: string, fates: Record<string, Fate>, steps?: number) => Promise<unknown>;
  const ends: (() => unknown)[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-journal-'));
  const file = join(folder, 'journal.jsonl');

  const functionErrors: string[] = [];
  const output: { readonly functionName: string; readonly line: OutputLine }[] = [];
  const { execPath } = process;
  const variables = lambdaVariables({ LogFormat: 'JSON', ApplicationLogLevel: 'WARN' });
  // A share of a core takes long.
  const lambda = nodeAsOnLambda(folder, { variables, limitsCpu: isDeep });
  beforeAll(async () => {
    if ('program' in lambda) process.execPath = lambda.program;
    else console.warn(`a plain process runs the functions: ${lambda.missing}`);
    stack = await startLocalStack({
      name: uniqueName('lambda'),
      surroundings: {
        AWS_ENDPOINT_URL_DYNAMODB: anyEngine().endpoint,
        AWS_ENDPOINT_URL_SQS: sqsEndpoint(),
        AWS_REGION: local.region,
      },
      settings: {
        // Leases are long and ended by hand: none may lapse because the machine is busy.
        ...{ leaseMs: 30_000, skewMs: 200, dispatchLeaseMs: 2000 },
        ...{ functionTimeoutMs: FUNCTION_TIMEOUT_MS, deadlineMarginMs: 3000 },
        ...{ reaperIntervalMs: 3000, minSweepIntervalMs: 50, logLevel: 'WARN' },
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
      if (event.kind === 'output') output.push(event);
      if (event.kind === 'ended' && event.outcome.outcome === 'functionError')
        functionErrors.push(event.outcome.failure.errorMessage);
    });
    client = createDynamoDbClient({ clock, config: { ...local, endpoint: anyEngine().endpoint } });
    sqs = createSqsClient({ ...local, endpoint: sqsEndpoint() });
    const table = createDynamoDbTable({ client, tableName: stack.tableName });
    store = createJobStore({ table, clock, random: systemRandom, settings: stack.settings, actor: 'test' });
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
    process.execPath = execPath;
    await stack.stop();
    for (const end of ends) end();
    if ('program' in lambda) await lambda.end();
    rmSync(folder, { recursive: true, force: true });
  });

  const finished = async (jobId: string): Promise<FinishedJob> => {
    for (;;) {
      const job = await store.read(jobId);
      if (job !== undefined && isFinished(job)) return job;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };

  it('uses the endpoints of the standard AWS variables instead of starting engines', () => {
    expect(stack.endpoints).toMatchObject({
      dynamodb: anyEngine().endpoint,
      sqs: sqsEndpoint(),
      engine: 'given',
    });
  });

  const fates = ['kill'] as const;
  const furtherFates = ['exhaustMemory', 'exit', 'spin'] as const;
  it.each(isDeep ? [...fates, ...furtherFates] : fates)(
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

  it('gives a message that no worker claimed to the next, by the dead-letter function', async () => {
    const payload = { steps: 1, stepMs: 1, fates: {}, journal: file };
    const dead = createSqsQueue({ client: sqs, queueUrl: stack.deadLetterQueueUrl, clock });
    await dead.sendJobs([{ body: jobBody('journal', payload, { jobId: 'dead' }) }]);
    expect(await finished('dead')).toMatchObject({ status: 'done', attempt: 1 });
  });

  it('logs from its level up, and all functions still write their metrics', async () => {
    const levels = output.flatMap(({ line }) => (line.kind === 'log' ? [line.level] : []));
    expect(levels.filter((level) => level === 'INFO' || level === 'DEBUG')).toEqual([]);
    const metrics = new Set(
      output.flatMap(({ line }) => (line.kind === 'metrics' ? Object.keys(line.values) : [])),
    );
    expect(metrics).toContain('JobsClaimed');
    expect(metrics).toContain('SweepDuration');
  });
});
