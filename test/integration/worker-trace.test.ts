import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { createProducer } from '../../lib/client/producer/index.ts';
import type { TraceContext } from '../../lib/index.ts';
import { defineJob } from '../../lib/worker/define-job.ts';
import { startWorkerProcess, type WorkerProcess } from '../../lib/worker/hosts/process-host.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

describe('a trace', () => {
  let stack: WorkerStack;
  let host: WorkerProcess | undefined;
  let seen: Map<string, TraceContext>;

  beforeEach(async () => {
    seen = new Map();
    stack = await startWorkerStack({ isolation: 'none' });
    const producer = () => createProducer({ queue: stack.direct.queue });
    const first = defineJob({
      type: 'first',
      payload: z.unknown(),
      async run({ jobId, attempt }, { trace }) {
        seen.set(`${jobId} ${attempt}`, trace);
        // The second attempt comes by a hint, which carries nothing: the row does.
        if (attempt === 1) throw new Error('again');
        await Promise.resolve();
        await producer().send('second', null, { jobId: `after-${jobId}` });
      },
    });
    const second = defineJob({
      type: 'second',
      payload: z.unknown(),
      run({ jobId }, { trace }) {
        seen.set(jobId, trace);
        return null;
      },
    });
    const parts = stack.worker(createRegistry([first, second]));
    host = startWorkerProcess({ parts, signals: false });
  });
  afterEach(async () => {
    await host?.stop({ graceMs: 0 });
    await stack.close();
  });

  const done = (jobId: string) => stack.until(jobId, (job) => job?.status === 'done');

  it('goes from message attributes to each attempt of the handler, and to the jobs that it sends', async () => {
    await stack.sqsClient.send(
      new SendMessageCommand({
        QueueUrl: stack.environment.LEASEHOLD_QUEUE_URL,
        MessageBody: JSON.stringify({ type: 'first', jobId: 'a' }),
        MessageAttributes: { traceparent: { DataType: 'String', StringValue: traceparent } },
      }),
    );
    await done('after-a');
    expect(seen.get('a 1')).toEqual({ traceparent, awsTraceHeader: undefined });
    expect(seen.get('a 2')).toEqual({ traceparent, awsTraceHeader: undefined });
    expect(seen.get('after-a')).toEqual({ traceparent, awsTraceHeader: undefined });
  });

  it('goes by the key of a message as well, and a malformed one beside it costs nothing', async () => {
    await stack.send('first', null, { jobId: 'by-key', traceparent });
    await stack.sqsClient.send(
      new SendMessageCommand({
        QueueUrl: stack.environment.LEASEHOLD_QUEUE_URL,
        MessageBody: JSON.stringify({ type: 'second', jobId: 'malformed' }),
        MessageAttributes: { traceparent: { DataType: 'String', StringValue: '00-0-0-00' } },
      }),
    );
    await stack.send('second', null, { jobId: 'none' });
    for (const jobId of ['after-by-key', 'malformed', 'none']) await done(jobId);
    expect(seen.get('after-by-key')).toEqual({ traceparent, awsTraceHeader: undefined });
    expect([seen.get('malformed'), seen.get('none')]).toEqual([{}, {}]);
    expect(await stack.read('none')).not.toHaveProperty('trace');
  });
});
