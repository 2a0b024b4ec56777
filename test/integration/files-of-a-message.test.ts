import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeQueue } from '../../lib/aws/sqs/queue-inspection.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack({ leaseMs: 30_000 });
});
afterAll(() => stack.close());

/** On a busy machine a few join in that wait or repeat. */
it('runs the code of at most 90 files for one message, from the poll to the deletion', async () => {
  const host = fork(join(import.meta.dirname, '../support/covered-worker.ts'), {
    env: { ...process.env, ...stack.environment, POWERTOOLS_LOG_LEVEL: 'SILENT' },
    execArgv: [],
  });
  const hostFiles = async (): Promise<string[]> => {
    host.send('files');
    return (await once(host, 'message'))[0];
  };
  const inQueue = () => describeQueue(stack.sqsClient, stack.environment.LEASEHOLD_QUEUE_URL ?? '');
  const runJob = async (jobId: string) => {
    await stack.send('plain', {}, { jobId });
    const { result } = (await stack.until(jobId, (job) => job?.status === 'done')) as { result?: unknown };
    await expect.poll(inQueue).toMatchObject({ visible: 0, inFlight: 0 });
    return result as string[];
  };
  await runJob('warm-up');
  await hostFiles();
  await runJob('measured');
  const inHost = await hostFiles();
  // Between the handlers of two jobs a cell ends one and starts the other.
  const inCell = await runJob('next');
  const files = [...new Set([...inHost, ...inCell])].sort();
  host.kill();
  await once(host, 'exit');
  expect(files.length, files.join('\n')).toBeLessThanOrEqual(90);
  expect(files).toContain('worker/run/run-claim.ts');
});
