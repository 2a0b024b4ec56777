import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ReceivedMessage } from '../../lib/protocol/ports.ts';
import { createLambdaHost } from '../../lib/worker/hosts/lambda-host.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { createQueue } from '../support/engines.ts';
import type { FaultRule } from '../support/faults.ts';
import { invoke } from '../support/invoke.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

/** An invocation waits for every request, so each one more is a round trip that the user pays for. */

let stack: WorkerStack;
/** The requests since the last look, in the order in which they arrived. */
let seen: string[];

beforeEach(async () => {
  stack = await startWorkerStack({ leaseMs: 60_000, functionTimeoutMs: 60_000, batchSize: 10 });
  seen = [];
  const note: FaultRule = ({ operation, body }) => {
    const written = String(body.UpdateExpression ?? '');
    const is = (name: string) => Object.values(body.ExpressionAttributeNames ?? {}).includes(name);
    seen.push(written === '' ? operation : `${operation} ${is('result') ? 'complete' : 'claim'}`);
    return undefined;
  };
  stack.dynamodb.use(note);
  stack.sqs.use(note);
});
afterEach(() => stack.close());

async function sent(...jobIds: readonly string[]): Promise<ReceivedMessage[]> {
  for (const jobId of jobIds) await stack.send('harmless', { ms: 0 }, { jobId });
  const messages: ReceivedMessage[] = [];
  while (messages.length < jobIds.length)
    messages.push(...(await stack.direct.queue.receive({ max: 10, waitSeconds: 5 })));
  return messages;
}

function host() {
  const jobs = new URL('../support/child-jobs.ts', import.meta.url);
  const parts = stack.worker(createRegistry([]), { handlers: { jobs } });
  return createLambdaHost(parts);
}

describe('a worker function', () => {
  it('sends two requests for a message, claim and complete, and answers', async () => {
    const { handler, ready } = host();
    await ready;
    for (const jobId of ['first', 'second', 'third']) {
      const messages = await sent(jobId);
      seen = [];
      expect(await invoke(handler, messages)).toEqual([]);
      expect(seen).toEqual(['UpdateItem claim', 'UpdateItem complete']);
      expect((await stack.read(jobId))?.status).toBe('done');
    }
  });

  it('compares the clocks while it starts, and not with a message; the first of a deployment names its types', async () => {
    await host().ready;
    expect(seen.filter((request) => request !== 'GetItem').length).toBeGreaterThan(0);
    seen = [];
    await host().ready;
    expect(seen).toEqual(['GetItem']);
  });

  it('sends two requests for each message of a batch', async () => {
    const { handler, ready } = host();
    await ready;
    const ids = Array.from({ length: 5 }, (_, i) => `job-${i}`);
    const messages = await sent(...ids);
    seen = [];
    expect(await invoke(handler, messages)).toEqual([]);
    expect(seen).toEqual(ids.flatMap(() => ['UpdateItem claim', 'UpdateItem complete']));
  });
});

describe('with pools', () => {
  const inPools = (queueUrl: string) => {
    const { tableName, settings } = stack;
    const resources = { tableName, queueUrl: stack.queueUrl, serviceName: 'test', eventBusName: 'default' };
    const routing = { pool: 'default', pools: { heavy: { queueUrl, types: ['elsewhere'] } } };
    const jobs = new URL('../support/child-jobs.ts', import.meta.url);
    const parts = stack.worker(createRegistry([]), {
      handlers: { jobs },
      configuration: { resources, settings, routing },
    });
    return createLambdaHost(parts);
  };

  it('a job in its right queue sends the same requests, and one that is forwarded a write and a message', async () => {
    const heavy = await createQueue(stack.sqsClient, {});
    const { handler, ready } = inPools(heavy);
    await ready;
    const own = await sent('own');
    seen = [];
    expect(await invoke(handler, own)).toEqual([]);
    expect(seen).toEqual(['UpdateItem claim', 'UpdateItem complete']);
    await stack.send('elsewhere', {}, { jobId: 'foreign' });
    const [message] = await stack.direct.queue.receive({ max: 1, waitSeconds: 5 });
    seen = [];
    expect(await invoke(handler, message === undefined ? [] : [message])).toEqual([]);
    expect(seen).toEqual(['UpdateItem claim', 'SendMessageBatch']);
    expect(await stack.read('foreign')).toMatchObject({ status: 'pending', attempt: 0 });
  });
});
