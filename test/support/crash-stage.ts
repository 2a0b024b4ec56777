import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Job } from '../../lib/protocol/job.ts';
import type { SharedDynamoDb } from './engines.ts';
import type { FaultProxy } from './fault-proxy.ts';
import type { SeenRequest } from './faults.ts';
import { JOURNAL_FILE, type JournalLine, readJournal } from './journal.ts';
import {
  type MortalProcess,
  type MortalProcessOptions,
  programs,
  startMortalProcess,
} from './mortal-process.ts';
import { startWorkerStack, type WorkerStack } from './worker-stack.ts';

/** A stack on real engines whose workers and reapers are real processes, reached through proxies that see every request. */
export interface CrashStage {
  readonly stack: WorkerStack;
  worker(options?: Partial<MortalProcessOptions>): MortalProcess;
  reaper(options?: Partial<MortalProcessOptions>): MortalProcess;
  journal(): readonly JournalLine[];
  /** Waits until the jobs are finished. */
  finished(...jobIds: readonly string[]): Promise<readonly Job[]>;
  close(): Promise<void>;
}

/**
 * A queue that soon gives a message to somebody else, and reapers that look often. Leases are long: how often a job was
 * charged is asserted, so none may lapse because the machine is busy. `stack.lapse` ends those of dead workers.
 */
const shortWaits = {
  // Each takes a process start, and processes are started a lot here.
  cells: 1,
  cellMemoryMb: 200,
  leaseMs: 30_000,
  // Bounds the wait for a reaper to take over from one that was killed.
  minLeaseMs: 1000,
  heartbeatMs: 300,
  functionTimeoutMs: 1500,
  dispatchLeaseMs: 1000,
  deadlineMarginMs: 200,
  reaperIntervalMs: 1000,
} as const;

export async function setCrashStage(
  settings: Readonly<Record<string, unknown>> = {},
  engine?: Pick<SharedDynamoDb, 'endpoint'>,
): Promise<CrashStage> {
  const stack = await startWorkerStack({ ...shortWaits, ...settings }, engine);
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-journal-'));
  const file = join(folder, 'journal.jsonl');
  const environment = {
    ...stack.environment,
    AWS_ENDPOINT_URL_DYNAMODB: stack.dynamodb.endpoint,
    AWS_ENDPOINT_URL_SQS: stack.sqs.endpoint,
    LEASEHOLD_QUEUE_URL: stack.queueUrl,
    [JOURNAL_FILE]: file,
  };
  const processes: MortalProcess[] = [];
  const start = (program: string, options: Partial<MortalProcessOptions> = {}) => {
    const { environment: more, ...rest } = options;
    const child = startMortalProcess({ program, environment: { ...environment, ...more }, ...rest });
    processes.push(child);
    return child;
  };
  return {
    stack,
    worker: (options) => start(programs.worker, options),
    reaper: (options) => start(programs.reaper, options),
    journal: () => readJournal(file),
    finished: (...jobIds) =>
      Promise.all(jobIds.map((jobId) => stack.until(jobId, (job) => job !== undefined && isOver(job)))),
    async close() {
      await Promise.all(processes.map((each) => each.stop()));
      await stack.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const isOver = ({ status }: Job): boolean => status !== 'pending' && status !== 'running';

/**
 * Kills the process on the first request that matches: `before` the engine gets it, or `after` it was carried out and
 * before anybody learns of it.
 */
export function dieAt(
  proxy: FaultProxy,
  victim: MortalProcess,
  matches: (request: SeenRequest) => boolean,
  when: 'before' | 'after',
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let done = false;
  proxy.use((request) => {
    if (done || !matches(request)) return undefined;
    done = true;
    victim.kill();
    resolve();
    return when === 'before' ? { kind: 'reset' } : { kind: 'dropReply' };
  });
  return promise;
}

/** Tells a worker's writes apart by what they set. */
export const writes = {
  claim: (request: SeenRequest) => request.operation === 'UpdateItem' && setsTo(request, 'leaseOwner'),
  heartbeat: (request: SeenRequest) =>
    request.operation === 'UpdateItem' && setsTo(request, 'heartbeatAt') && !setsTo(request, 'leaseOwner'),
  checkpoint: (request: SeenRequest) => request.operation === 'UpdateItem' && setsTo(request, 'checkpoint'),
  complete: (request: SeenRequest) =>
    request.operation === 'UpdateItem' && setsTo(request, 'status') && hasValue(request, 'done'),
  retry: (request: SeenRequest) =>
    request.operation === 'UpdateItem' && setsTo(request, 'lastError') && hasValue(request, 'pending'),
  batch: (request: SeenRequest) => request.operation === 'BatchExecuteStatement',
  hints: (request: SeenRequest) => request.operation === 'SendMessageBatch',
} as const;

const setsTo = ({ body }: SeenRequest, attribute: string): boolean =>
  new RegExp(`[ ,]#${attribute} = :`).test(String(body.UpdateExpression).split(' REMOVE ')[0] ?? '');

const hasValue = ({ body }: SeenRequest, value: string): boolean =>
  Object.values((body.ExpressionAttributeValues ?? {}) as Record<string, { S?: string }>).some(
    ({ S }) => S === value,
  );
