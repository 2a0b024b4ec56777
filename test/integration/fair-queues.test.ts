import { afterEach, expect, it, vi } from 'vitest';
import * as z from 'zod/mini';
import { createClient } from '../../lib/client/index.ts';
import { createProducer } from '../../lib/client/producer/index.ts';
import { resumeType } from '../../lib/protocol/limits/operate.ts';
import type { ReceivedMessage } from '../../lib/protocol/ports.ts';
import { scheduleNextWrite } from '../../lib/protocol/writes/reaper-row-writes.ts';
import { sweep } from '../../lib/reaper/sweep.ts';
import { pauseGroups } from '../../lib/wire/limits.ts';
import { jobBody } from '../../lib/wire/message.ts';
import { defineJob } from '../../lib/worker/define-job.ts';
import { createDeadLetterHandler } from '../../lib/worker/hosts/dead-letter-host.ts';
import { createLambdaHost } from '../../lib/worker/hosts/lambda-host.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { local } from '../support/engines.ts';
import { invoke } from '../support/invoke.ts';
import { newJob } from '../support/jobs.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

/** The engine takes a message group on a standard queue, and shows it to nobody, so requests are looked at. */
let stack: WorkerStack;
/** What was sent since the last look: job or hint, and its group. */
let sent: [kind: string, group: string | undefined][];

const sync = defineJob({
  type: 'sync',
  limit: { perKey: 1 },
  payload: z.unknown(),
  run({ payload }) {
    if (payload === 'fails once') throw new Error('once');
  },
});
const registry = createRegistry([sync]);
const key = 'tenant-7';
const place = { name: `limit:sync:${key}`, limit: 1 };

async function start(fair: boolean): Promise<void> {
  stack = await startWorkerStack({ fair });
  vi.stubEnv('LEASEHOLD_QUEUE_URL', stack.queueUrl);
  vi.stubEnv('LEASEHOLD_FAIR', String(fair));
  stack.sqs.use(({ operation, body }) => {
    if (operation !== 'SendMessageBatch') return undefined;
    const entries = body.Entries as { MessageBody: string; MessageGroupId?: string }[];
    for (const { MessageBody, MessageGroupId } of entries)
      sent.push([Object.hasOwn(JSON.parse(MessageBody), 'hint') ? 'hint' : 'job', MessageGroupId]);
    return undefined;
  });
}

afterEach(async () => {
  vi.unstubAllEnvs();
  await stack.close();
});

async function received(count: number) {
  const messages: ReceivedMessage[] = [];
  while (messages.length < count)
    messages.push(...(await stack.direct.queue.receive({ max: 10, waitSeconds: 5 })));
  return messages;
}

/** Lets each sender send, and returns what each sent. */
async function everySender(): Promise<Record<string, typeof sent>> {
  const worker = stack.worker(registry);
  const run = createLambdaHost(worker).handler;
  const consume = createDeadLetterHandler(worker);
  const sqs = { ...local, endpoint: stack.sqs.endpoint };
  const dynamodb = { ...local, endpoint: stack.dynamodb.endpoint };
  const client = createClient({ registry, table: stack.tableName, dynamodb, sqs });
  const bySender: Record<string, typeof sent> = {};
  const note = async (sender: string, act: () => Promise<unknown>) => {
    sent = [];
    await act();
    bySender[sender] = sent;
  };
  await note('producer', () => createProducer({ ...sqs, registry }).send('sync', 'fails once', { key }));
  await note('worker, retrying', async () => invoke(run, await received(1)));
  await note('client', () => client.send('sync', 1, { key }));
  const { shards } = stack.settings;
  const now = Date.now();
  const next = { wake: 'w', wakeAt: now, holder: 'reaper', term: 1, gaugedAt: now, wholeAt: now };
  await worker.table.apply(scheduleNextWrite(next, { seen: undefined, now, shards }));
  await note('client, enqueueing', async () => (await client.enqueueItems('sync', 1, { key })).sendHint());
  await note('dead-letter consumer', async () => {
    const body = jobBody('sync', 1, { key, jobId: 'dead' });
    const message = { messageId: 'm', receiptHandle: 'm', body, sentAt: Date.now(), receiveCount: 9 };
    await invoke(consume, [message]);
  });
  client.close();
  const [holder, waiting] = ['holder', 'waiting'].map((jobId) => newJob(jobId, { type: 'sync', key }));
  if (holder === undefined || waiting === undefined) throw new Error('no jobs');
  const { store } = worker;
  await store.claim({ job: { ...holder, maxAttempts: 1 }, owner: 'w/1', group: place.name });
  await store.admit(place, { jobId: 'holder', attempt: 1 });
  const dispatch = { notBefore: 0, leaseUntil: Date.now() + 60_000, dispatches: 1 };
  await store.schedule(waiting, dispatch, { waitsFor: place.name });
  await stack.lapse('holder');
  await note('reaper, passing a place on', () => sweep(worker));
  await note('operator, resuming', async () => {
    const [group = ''] = pauseGroups('sync');
    await store.schedule(newJob('paused', { type: 'sync', key }), dispatch, { waitsFor: group });
    await resumeType({ ...worker, by: 'operator' }, 'sync');
  });
  return bySender;
}

it('gives every message and hint its key as message group', async () => {
  await start(true);
  const job = ['job', key];
  const hint = ['hint', key];
  expect(await everySender()).toEqual({
    producer: [job],
    'worker, retrying': [hint],
    client: [job],
    'client, enqueueing': [hint],
    'dead-letter consumer': [hint],
    'reaper, passing a place on': [hint, hint],
    'operator, resuming': [hint],
  });
});

it('sends no message group unless the system is fair', async () => {
  await start(false);
  const groups = Object.values(await everySender()).flatMap((some) => some.map(([, each]) => each));
  expect(groups).toEqual(Array.from({ length: 8 }, () => undefined));
});
