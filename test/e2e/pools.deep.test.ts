import { CreateQueueCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { jobBody } from '../../lib/wire/message.ts';
import { poolsText } from '../../lib/wire/pools.ts';
import { type CrashStage, setCrashStage } from '../support/crash-stage.ts';
import { uniqueName } from '../support/engines.ts';

let stage: CrashStage;
beforeEach(async () => {
  stage = await setCrashStage();
});
afterEach(() => stage.close());

it('a type moves to another pool and back under load: no job is lost, or charged for its queue', async () => {
  const { stack } = stage;
  const { QueueUrl: heavy = '' } = await stack.sqsClient.send(
    new CreateQueueCommand({ QueueName: uniqueName('heavy') }),
  );
  const queues = { default: stack.environment.LEASEHOLD_QUEUE_URL ?? '', heavy };
  const moved = poolsText({ heavy: { queueUrl: heavy, types: ['journal'] } });
  const worker = (pool: string, pools: string) =>
    stage.worker({ environment: { LEASEHOLD_POOL: pool, LEASEHOLD_POOLS: pools } });
  const jobIds: string[] = [];
  const send = async (pool: keyof typeof queues, count: number) => {
    for (let n = 0; n < count; n++) {
      const jobId = `job-${jobIds.length}`;
      jobIds.push(jobId);
      const MessageBody = jobBody('journal', { steps: 1, stepMs: 20, fates: {} }, { jobId });
      await stack.sqsClient.send(new SendMessageCommand({ QueueUrl: queues[pool], MessageBody }));
    }
  };
  const done = (jobId: string | undefined) => stack.until(jobId ?? '', (job) => job?.status === 'done');
  stage.reaper();

  // Before the deployment, the default pool runs the type.
  const old = worker('default', '{}');
  await send('default', 8);
  await done(jobIds[0]);
  // During it, the workers disagree, and plain messages go to either queue.
  worker('heavy', moved);
  await send('default', 8);
  await send('heavy', 8);
  await done(jobIds[16]);
  // After it, what comes to the default queue is forwarded.
  worker('default', moved);
  await old.stop();
  await send('default', 8);
  await Promise.all(jobIds.map(done));
  // And back.
  worker('default', '{}');
  await send('default', 8);
  await send('heavy', 8);

  const jobs = await Promise.all(jobIds.map(done));
  for (const { lastError = '' } of jobs) expect(lastError).not.toContain('no handler');
  const ran = new Set(stage.journal().flatMap(({ event, jobId }) => (event === 'effect' ? [jobId] : [])));
  expect([...ran].sort()).toEqual([...jobIds].sort());
});
