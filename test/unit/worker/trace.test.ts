import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { createProducer } from '../../../lib/client/producer/index.ts';
import type { TraceContext } from '../../../lib/index.ts';
import type { JobQueue } from '../../../lib/protocol/ports.ts';
import { createTestStack } from '../../../lib/testing/test-stack.ts';
import { defineJob } from '../../../lib/worker/define-job.ts';
import { sqsHandler } from '../../../lib/worker/hosts/sqs-handler.ts';
import { createEngine } from '../../../lib/worker/intake/engine.ts';
import { createRegistry } from '../../../lib/worker/registry.ts';
import { lambdaContext } from '../../support/invoke.ts';

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const awsTraceHeader = 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1';

type Sent = Parameters<JobQueue['sendJobs']>[0][number];

/** Runs the job of one record of Lambda's, whose handler sends another job; tells what both were given. */
async function runRecord(body: object, beside: { readonly traceparent?: string; readonly header?: string }) {
  const stack = createTestStack();
  const sent: Sent[] = [];
  const queue = {
    sendJobs: async (messages: readonly Sent[]) => {
      sent.push(...messages);
      return messages.map(() => ({ outcome: 'sent' as const, messageId: 'm' }));
    },
  };
  const producer = createProducer({ queue });
  let seen: TraceContext | undefined;
  const first = defineJob({
    type: 'first',
    payload: z.unknown(),
    async run(_job, { trace }) {
      seen = trace;
      await Promise.resolve();
      await producer.sendMany([
        { type: 'second', payload: null },
        { type: 'second', payload: null, options: { traceparent: traceparent.replace('4bf9', '4bfa') } },
      ]);
    },
  });
  const engine = createEngine(stack.worker(createRegistry([first])));
  const record = {
    ...{ messageId: 'm1', receiptHandle: 'r', body: JSON.stringify({ type: 'first', ...body }) },
    attributes: { SentTimestamp: '0', ApproximateReceiveCount: '1', AWSTraceHeader: beside.header },
    messageAttributes: { traceparent: { stringValue: beside.traceparent } },
  };
  const handler = sqsHandler({ ...stack.telemetry, middleware: [], flush() {} }, async (messages) => {
    for (const message of messages) {
      const opened = await engine.open(message);
      if (opened.kind !== 'claimable') throw new Error(opened.kind);
      const [claimed] = await engine.claim([opened]);
      if (claimed?.kind !== 'claimed') throw new Error(claimed?.kind);
      await engine.run(claimed, { stopping: new AbortController().signal, releaseWithinMs: 0 });
    }
    return [];
  });
  await handler({ Records: [record] }, lambdaContext());
  // Outside of the handler there is no trace to carry on.
  await producer.send('third', null);
  return { seen, sent, row: (await stack.table.read('m1')) ?? {} };
}

describe('a trace', () => {
  it('goes from the message attributes to the row, the handler, and the jobs that it sends', async () => {
    const { seen, sent, row } = await runRecord({}, { traceparent, header: awsTraceHeader });
    expect(row).toMatchObject({ traceparent, awsTraceHeader });
    expect(seen).toEqual({ traceparent, awsTraceHeader });
    const [second, own, third] = sent;
    expect([JSON.parse(second?.body ?? '').traceparent, second?.awsTraceHeader]).toEqual([
      traceparent,
      awsTraceHeader,
    ]);
    expect(JSON.parse(own?.body ?? '').traceparent).toMatch(/^00-4bfa/);
    expect(third?.body).not.toContain('trace');
    expect(third?.awsTraceHeader).toBeUndefined();
  });

  it('in the message body overrides the one in its attributes, and is absent without either', async () => {
    const { seen } = await runRecord({ traceparent }, { traceparent: traceparent.replace('4bf9', '4bfa') });
    expect(seen?.traceparent).toBe(traceparent);
    const none = await runRecord({}, { traceparent: 'nonsense', header: 'é' });
    expect(none.seen).toEqual({});
    expect(Object.keys(none.row).filter((name) => /trace/i.test(name))).toEqual([]);
  });

  it('that is malformed is refused where a producer names it', async () => {
    const producer = createProducer({ queue: { sendJobs: async () => [] } });
    await expect(producer.send('a', null, { traceparent: '00-1-2-3' })).rejects.toThrow(
      /'traceparent' is '00-1-2-3'; it must be one of W3C Trace Context, such as 00-.* or left out/,
    );
  });
});
