import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type CrashStage, setCrashStage } from '../support/crash-stage.ts';

let stage: CrashStage;
beforeEach(async () => {
  stage = await setCrashStage();
});
afterEach(() => stage.close());

it('a worker process whose clock is wrong takes no message, and leaves it to one whose clock is right', async () => {
  const { stack } = stage;
  await stack.send('journal', { steps: 1, stepMs: 0 }, { jobId: 'a' });
  const wrong = stage.worker({
    execArgv: ['--import', join(import.meta.dirname, '..', 'chaos', 'skewed-clock.ts')],
    environment: { CLOCK_OFFSET_MS: '60000' },
  });
  await expect.poll(() => wrong.output).toMatch(/too far from DynamoDB/);
  const asked = () => stack.dynamodb.counts.GetItem ?? 0;
  const first = asked();
  await expect.poll(asked).toBeGreaterThan(first + 3);
  expect(stack.sqs.counts.ReceiveMessage ?? 0).toBe(0);
  const right = stage.worker();
  const [job] = await stage.finished('a');
  expect(job).toMatchObject({ status: 'done', attempt: 1, crashes: 0 });
  expect(right.cells()).toEqual(expect.arrayContaining(stage.journal().map(({ pid }) => pid)));
  expect(stage.journal()).not.toEqual([]);
});
