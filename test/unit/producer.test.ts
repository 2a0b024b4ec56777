import { expect, it, vi } from 'vitest';
import * as z from 'zod/mini';
import { createProducer } from '../../lib/client/producer/index.ts';
import { LeaseholdError } from '../../lib/index.ts';
import { QueueUnavailableError } from '../../lib/protocol/errors.ts';
import { defineJob } from '../../lib/worker/define-job.ts';
import { createRegistry } from '../../lib/worker/registry.ts';

const registry = createRegistry([defineJob({ type: 'greet', payload: z.unknown(), run: () => undefined })]);

it.each([undefined, '', 'jobs'])(
  'a producer refuses the queue %j when it first sends, not when a build loads it, and names the variable',
  async (queue) => {
    vi.stubEnv('LEASEHOLD_QUEUE_URL', '');
    const sent = createProducer({ registry, queue }).send('greet', {});
    await expect(sent).rejects.toThrow(LeaseholdError);
    await expect(sent).rejects.toThrow(/LEASEHOLD_QUEUE_URL.*QueueUrl/);
    vi.unstubAllEnvs();
  },
);

it('a producer that cannot reach the queue says so once, with what SQS’s client said as the cause', async () => {
  const refused = new Error('connect ECONNREFUSED');
  const error = new QueueUnavailableError('SendMessageBatch', refused);
  const queue = {
    sendJobs: async () => [{ outcome: 'failed', reason: error.message, error } as const],
  };
  const thrown = await createProducer({ registry, queue })
    .send('greet', {})
    .catch((reason: unknown) => reason);
  expect(thrown).toBe(error);
  expect(String(thrown).match(/SQS did not answer/g)).toHaveLength(1);
  expect((thrown as Error).cause).toBe(refused);
});
