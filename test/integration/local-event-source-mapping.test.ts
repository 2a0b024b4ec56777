import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { failedMessages } from '../../lib/tools/dev/lambda-host/batch-response.ts';
import { startEventSourceMapping } from '../../lib/tools/dev/lambda-host/event-source-mapping.ts';
import { LambdaFunction } from '../../lib/tools/dev/lambda-host/lambda-function.ts';
import { isDeep } from '../support/depth.ts';
import { sqsClient, sqsEndpoint, uniqueName } from '../support/engines.ts';

const client = sqsClient(sqsEndpoint());
afterAll(() => client.destroy());

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A handler that keeps a journal of what it got: one line of JSON for each invocation. */
const HANDLER = `
  import { appendFileSync } from 'node:fs';
  const note = (line) => appendFileSync(new URL('./journal', import.meta.url), JSON.stringify(line) + '\\n');
  export const handler = async (event) => {
    const bodies = event.Records.map((record) => record.body);
    note({ bodies, counts: event.Records.map((r) => Number(r.attributes.ApproximateReceiveCount)) });
    for (const body of bodies) {
      if (body === 'throw') throw new Error('no');
      if (body === 'die') process.kill(process.pid, 'SIGKILL');
      if (body === 'nonsense') return { batchItemFailures: [{ itemIdentifier: '' }] };
    }
    note({ ended: bodies });
    return { batchItemFailures: event.Records.filter((r) => r.body.startsWith('fail')).map((r) => ({ itemIdentifier: r.messageId })) };
  };`;

type Line = { bodies?: string[]; counts?: number[]; ended?: string[] };

async function queue(attributes: Record<string, string> = {}): Promise<string> {
  const reply = await client.send(
    new CreateQueueCommand({ QueueName: uniqueName('mapping'), Attributes: attributes }),
  );
  return reply.QueueUrl ?? '';
}

const arnOf = async (QueueUrl: string) =>
  (await client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }))).Attributes
    ?.QueueArn ?? '';

async function mapped(queueUrl: string, options: { batchSize: number; batchWindowMs?: number }) {
  const codeDir = mkdtempSync(join(tmpdir(), 'leasehold-mapping-'));
  cleanUps.push(() => rmSync(codeDir, { recursive: true, force: true }));
  writeFileSync(join(codeDir, 'index.mjs'), HANDLER);
  writeFileSync(join(codeDir, 'journal'), '');
  const target = new LambdaFunction({
    functionName: 'mapped',
    codeDir,
    handler: 'index.handler',
    environment: {},
    timeoutMs: 30_000,
    initTimeoutMs: 30_000,
    concurrency: 1,
  });
  const mapping = startEventSourceMapping({
    client,
    queueUrl,
    queueArn: await arnOf(queueUrl),
    target,
    batchSize: options.batchSize,
    batchWindowMs: options.batchWindowMs ?? 0,
  });
  cleanUps.push(() => Promise.all([target.stop(), mapping.stop()]));
  const journal = (): Line[] =>
    readFileSync(join(codeDir, 'journal'), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return { journal, deliveries: () => journal().flatMap((line) => line.bodies ?? []) };
}

const send = (QueueUrl: string, MessageBody: string) =>
  client.send(new SendMessageCommand({ QueueUrl, MessageBody }));

const sendAll = (QueueUrl: string, bodies: readonly string[]) =>
  client.send(
    new SendMessageBatchCommand({
      QueueUrl,
      Entries: bodies.map((MessageBody, i) => ({ Id: String(i), MessageBody })),
    }),
  );

const until = async (isSo: () => boolean | Promise<boolean>) => {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
};

describe('the event source mapping', () => {
  it('deletes what the function acknowledged and delivers what it named as failed again', async () => {
    const url = await queue({ VisibilityTimeout: '1' });
    await sendAll(url, ['a', 'fail-b', 'c']);
    const { deliveries, journal } = await mapped(url, { batchSize: 10 });
    await until(() => deliveries().filter((body) => body === 'fail-b').length >= 2);
    expect(deliveries().filter((body) => body === 'a' || body === 'c')).toHaveLength(2);
    expect(journal().find((line) => line.bodies?.length === 1)).toMatchObject({
      bodies: ['fail-b'],
      counts: [2],
    });
  });

  it.each(isDeep ? ['throw', 'die', 'nonsense'] : ['die'])(
    'delivers the whole batch again after an invocation that ended in %s',
    async (end) => {
      const url = await queue({ VisibilityTimeout: '1' });
      await sendAll(url, ['a', end]);
      const { deliveries } = await mapped(url, { batchSize: 10 });
      await until(() => deliveries().filter((body) => body === 'a').length >= 2);
      expect(deliveries().filter((body) => body === end).length).toBeGreaterThanOrEqual(2);
    },
  );

  it('gathers messages for as long as the batch window is open', async () => {
    const url = await queue();
    const { journal } = await mapped(url, { batchSize: 3, batchWindowMs: 20_000 });
    await send(url, 'a');
    await send(url, 'b');
    await send(url, 'c');
    await until(() => journal().some((line) => line.ended));
    expect(journal()[0]?.bodies?.sort()).toEqual(['a', 'b', 'c']);
  });
});

describe('a partial batch response', () => {
  const sent = ['m1', 'm2'];
  it.each([
    ['nothing', null, []],
    ['no list', {}, []],
    ['an empty list', { batchItemFailures: [] }, []],
    ['one failure', { batchItemFailures: [{ itemIdentifier: 'm2' }] }, ['m2']],
    ['an empty id', { batchItemFailures: [{ itemIdentifier: '' }] }, sent],
    ['a missing id', { batchItemFailures: [{ id: 'm1' }] }, sent],
    ['an id that was not sent', { batchItemFailures: [{ itemIdentifier: 'm3' }] }, sent],
    ['a hole', { batchItemFailures: [null] }, sent],
    ['no object', 'fine', sent],
    ['a list that is none', { batchItemFailures: 'm1' }, sent],
  ])('with %s is read as Lambda reads it', (_, payload, failed) => {
    expect([...failedMessages(payload, sent)]).toEqual(failed);
  });
});
