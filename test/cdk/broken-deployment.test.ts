import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQSEvent } from 'aws-lambda';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ROLLBACK_ALARMS } from '../../lib/cdk/worker-deployment.ts';
import { LambdaFunction } from '../../lib/tools/dev/lambda-host/lambda-function.ts';
import { resourceVariables } from '../../lib/wire/environment.ts';
import { hintBody, jobBody } from '../../lib/wire/message.ts';
import { LEADER_KEY, ROW_FORMAT } from '../../lib/wire/table.ts';
import { type CloudWatch, createCloudWatch } from './cloudwatch.ts';
import { type Deployed, deploy } from './deployed.ts';
import type { Breakage } from './iam-gate.ts';
import { projectRoot, withoutValidation } from './support.ts';

withoutValidation();

/**
 * Each way to break the system, on the bundles of the synthesized stack: real processes, real engines, and the alarms of the
 * template on the lines that they write. The clock of CloudWatch is counted, not waited for.
 */
let deployed: Deployed;
beforeAll(async () => {
  deployed = await deploy(`${projectRoot}/test/support/breakable-jobs.ts`);
}, 120_000);
afterAll(() => deployed?.stop());
afterEach(() => breakBy());

const breakBy = (breakage?: Breakage) => {
  for (const { gate } of Object.values(deployed.functions)) gate.breakBy(breakage);
};
const denied = (permission: RegExp): Breakage => {
  return (asked) =>
    asked.some((each) => permission.test(each)) ? { status: 400, error: 'AccessDeniedException' } : undefined;
};

/** Runs an act and shows CloudWatch what was written meanwhile, as of this second. */
async function at<T>(second: number, watch: CloudWatch, act: () => Promise<T>): Promise<T> {
  const before = deployed.lines.length;
  const result = await act();
  watch.take(deployed.lines.slice(before), second);
  return result;
}

const tick = (second: number, watch: CloudWatch) =>
  at(second, watch, () => deployed.functions.reaper.invoke({}));

/** The message that the row of the reapers names. */
async function wake(second: number, watch: CloudWatch) {
  const row = await deployed.table.read(LEADER_KEY);
  const event = { Records: [{ body: JSON.stringify({ wake: row?.wake }) }] };
  return at(second, watch, () => deployed.functions.reaper.invoke(event));
}

let messages = 0;
const message = async (type: string, payload: object, options = {}): Promise<SQSEvent> =>
  deployed.batch(deployed.queues.queue, [
    jobBody(type, payload as never, { jobId: `broken-${++messages}`, ...options }),
  ]);

/** Delivers a message as SQS does that no worker can claim: again after 2, 4, 8 … seconds. */
async function deliverForMinutes(minutes: number, watch: CloudWatch, event: SQSEvent): Promise<void> {
  for (let second = 0, received = 1; second < minutes * 60; second += Math.min(300, 2 ** received++)) {
    const Records = event.Records.map((record) => ({
      ...record,
      attributes: { ...record.attributes, ApproximateReceiveCount: String(received) },
    }));
    await at(second, watch, () => deployed.functions.worker.invoke({ Records }));
  }
}

/** The metrics that were written since then. */
const namesSince = (line: number) =>
  new Set(
    deployed.lines.slice(line).flatMap((each) => (each.kind === 'metrics' ? Object.keys(each.values) : [])),
  );

const watchAlarms = () => createCloudWatch(deployed.alarms);

/** A wake queue in which no message waits. */
function wakeQueue(watch: CloudWatch, minutes: number): void {
  for (let minute = 0; minute < minutes; minute++)
    watch.put('AWS/SQS ApproximateNumberOfMessagesVisible WakeQueue', 60 * minute, 0);
}

/** Edits the row of the reapers. */
const editPromise = (set: { readonly wakeAt: number } | { readonly wholeAt: number }) =>
  deployed.table.apply({
    ...{ transition: 'renewWake', jobId: LEADER_KEY, returns: 'nothing', set },
    when: [[{ attribute: 'wake', is: 'present' }]],
  });

/** Three pending jobs whose hints are due. */
async function waitingJobs(): Promise<readonly string[]> {
  const jobIds = [1, 2, 3].map(() => `waiting-${++messages}`);
  for (const jobId of jobIds)
    await deployed.storeAt(-300_000).schedule(
      {
        jobId,
        ...{ type: 'count-primes', payload: '{"below":10}', leaseMs: 30_000, maxAttempts: 5, maxCrashes: 3 },
      },
      { notBefore: 0, leaseUntil: 1, dispatches: 1 },
    );
  return jobIds;
}

describe('a system in which nothing is broken', () => {
  it('sets no alarm off, cold starts included, and costs one custom metric while it is idle', async () => {
    const watch = watchAlarms();
    const idle = deployed.lines.length;
    for (let minute = 0; minute < 6; minute++) {
      await tick(60 * minute, watch);
      await wake(60 * minute + 32, watch);
    }
    expect(namesSince(idle)).toEqual(new Set(['SweepDuration']));
    const event = await message('count-primes', { below: 10 });
    const busy = deployed.lines.length;
    await at(30, watch, () => deployed.functions.worker.invoke(event));
    expect(namesSince(busy)).toEqual(new Set(['JobsClaimed', 'JobsDone']));
    wakeQueue(watch, 6);
    for (let minute = 0; minute < 6; minute++)
      watch.put('AWS/SQS ApproximateNumberOfMessagesVisible Queue', 60 * minute, 0);
    expect(watch.wentOff(6)).toEqual({});
  });
});

describe('each way to break it', () => {
  it.each<[string, Breakage]>([
    ['the role of the worker may not use the table', denied(/^dynamodb:/)],
    ['the key of the table may not be used', denied(/^kms:Decrypt/)],
    ['DynamoDB answers with errors', (asked, body) => outage(asked, body)],
  ])('sets off the alarm of the table when %s, for a single message', async (_, breakage) => {
    const watch = watchAlarms();
    const event = await message('count-primes', { below: 10 });
    deployed.functions.worker.gate.breakBy(breakage);
    await deliverForMinutes(1, watch, event);
    expect(watch.wentOff(10)).toEqual({ StoreFailures: 1 });
  });

  it('sets off the alarm of messages that go back, which Lambda takes for successes', async () => {
    const watch = watchAlarms();
    const events = [
      await message('count-primes', {}),
      await message('count-primes', {}),
      await message('poison', {}),
    ];
    deployed.functions.worker.gate.breakBy(denied(/^dynamodb:/));
    for (const event of events) await deliverForMinutes(5, watch, event);
    expect(watch.wentOff(10)).toEqual({ StoreFailures: 1, MessagesReturned: 3 });
  });

  it('sets off the alarm of throttles when DynamoDB refuses some requests, though none fails', async () => {
    const watch = watchAlarms();
    for (const minute of [0, 5]) {
      const refused = new Set<string>();
      // The first look at each shard; the SDK's next attempt succeeds.
      breakBy((asked, body) => {
        if (!asked.some((each) => each.startsWith('dynamodb:Query')) || refused.has(body)) return undefined;
        refused.add(body);
        return { status: 400, error: 'ThrottlingException' };
      });
      await tick(60 * minute, watch);
    }
    expect(watch.wentOff(15)).toEqual({ Throttled: 6 });
  });

  it('sets off the alarm of clocks when one is wrong, and the reaper that refuses to act is missed', async () => {
    const watch = watchAlarms();
    const event = await message('count-primes', { below: 10 });
    breakBy((asked) =>
      asked.some((each) => each.startsWith('dynamodb:')) ? { clockAheadMs: 60_000 } : undefined,
    );
    await deliverForMinutes(1, watch, event);
    wakeQueue(watch, 6);
    for (let minute = 0; minute < 6; minute++) await tick(60 * minute, watch);
    expect(watch.wentOff(10)).toEqual({ ClockUnsound: 1, DeadMan: 5 });
    // Believed again, before the next test asks.
    breakBy();
    await expect
      .poll(async () => (await tick(0, watch)) as unknown)
      .toMatchObject({ payload: { sweeps: 1 } });
  });

  it('sets off the alarm of crashes when handlers kill what they run in, and of failures when a job is given up', async () => {
    const watch = watchAlarms();
    const event = await message('poison', {});
    await at(0, watch, () => deployed.functions.worker.invoke(event));
    expect(watch.wentOff(10)).toMatchObject({ Crashes: 1 });
    const failing = await message('call-service', { url: 'http://127.0.0.1:9', body: 1 }, { maxAttempts: 1 });
    await at(0, watch, () => deployed.functions.worker.invoke(failing));
    expect(watch.wentOff(10)).toMatchObject({ JobsFailed: 1 });
    // What the dashboard asks the log for.
    const logged = (message: string, ...fields: string[]) =>
      deployed.lines.flatMap((line) =>
        line.kind === 'log' && line.message === message
          ? [fields.map((name) => String(line.fields[name])).join(': ')]
          : [],
      );
    expect(logged('run ended', 'type', 'outcome')).toContain('call-service: failed');
    expect(logged('attempt crashed', 'type', 'cause')[0]).toMatch(/^poison: .*SIGKILL/);
  });

  it('sets off the alarm of the worker function when it cannot start', async () => {
    const watch = watchAlarms();
    const { codeDir } = deployed.functions.worker;
    const errors: string[] = [];
    const broken = new LambdaFunction({
      ...{ functionName: 'worker', codeDir, handler: 'index.handler', concurrency: 1, memoryMb: 512 },
      ...{ timeoutMs: 20_000, environment: { [resourceVariables.tableName]: '' } },
    });
    const outcome = await broken.invoke(await message('count-primes', { below: 10 }));
    await broken.stop();
    if (outcome.outcome === 'functionError') errors.push(outcome.failure.errorMessage);
    watch.put('AWS/Lambda Errors WorkerFunction', 0, errors.length);
    expect(watch.wentOff(10)).toEqual({ WorkerErrors: 1 });
  });
});

describe('a bad jobs module', () => {
  it.each([
    ['cannot be loaded', `throw new Error('no database');`],
    ['ends its process', 'process.exit(1);'],
  ])('that %s sets off an alarm that rolls a deployment back', async (_, code) => {
    const watch = watchAlarms();
    const { worker } = deployed.functions;
    const cell = join(worker.codeDir, 'cell.mjs');
    const good = readFileSync(cell);
    writeFileSync(cell, code);
    await worker.replaceAll();
    const event = await message('count-primes', { below: 10 });
    const outcome = await at(0, watch, () => worker.invoke(event));
    if (outcome.outcome === 'functionError') watch.put('AWS/Lambda Errors WorkerFunction', 0, 1);
    writeFileSync(cell, good);
    await worker.replaceAll();
    expect(Object.keys(watch.wentOff(10)).filter((id) => ROLLBACK_ALARMS.includes(id))).not.toEqual([]);
  });
});

describe('each way to break the reaper', () => {
  it('is missed within five minutes when nothing starts it', () => {
    const watch = watchAlarms();
    wakeQueue(watch, 10);
    expect(watch.wentOff(10)).toEqual({ DeadMan: 5 });
  });

  it('is missed when its schedule is switched off and only the chain of wakes goes on', async () => {
    await deployed.functions.reaper.invoke({});
    const watch = watchAlarms();
    wakeQueue(watch, 10);
    for (let minute = 0; minute < 5; minute++) {
      // A minute ago: this wake looks at pending jobs, too.
      await editPromise({ wholeAt: Date.now() - 60_000 });
      expect(await wake(60 * minute, watch)).toMatchObject({ payload: { ended: 'swept' } });
    }
    expect(watch.wentOff(10)).toEqual({ DeadMan: 5 });
  });

  it.each([
    ['the index', /^dynamodb:Query/],
    ['the table', /^dynamodb:/],
    ['the key', /^kms:/],
  ])('tells when its role may not use %s', async (_, permission) => {
    const watch = watchAlarms();
    deployed.functions.reaper.gate.breakBy(denied(permission));
    for (let minute = 0; minute < 4; minute++) await tick(60 * minute, watch);
    expect(watch.wentOff(10)).toMatchObject({ StoreFailures: expect.toSatisfy((minute) => minute <= 3) });
  });

  it('tells when it cannot put hints into the queue, so that waiting jobs never start', async () => {
    const watch = watchAlarms();
    await waitingJobs();
    deployed.functions.reaper.gate.breakBy(denied(/^sqs:SendMessage on Queue/));
    await tick(0, watch);
    expect(watch.wentOff(10)).toEqual({ StoreFailures: 1 });
  });

  it('tells of rows that a newer version wrote, which wait until that version is back', async () => {
    const watch = watchAlarms();
    const [jobId = ''] = await waitingJobs();
    await deployed.table.apply({
      ...{ transition: 'schedule', jobId, set: { format: 99 }, returns: 'nothing' },
      when: [[{ attribute: 'jobId', is: 'present' }]],
    });
    for (let minute = 0; minute < 5; minute++) await tick(60 * minute, watch);
    expect(watch.wentOff(10)).toEqual({ StoreFailures: 3 });
    const before = deployed.lines.length;
    const hint = await deployed.batch(deployed.queues.queue, [hintBody({ jobId, type: 'count-primes' })]);
    await deployed.functions.worker.invoke(hint);
    expect(namesSince(before)).toEqual(new Set(['RowsTooNew', 'StoreFailures']));
    await deployed.table.apply({
      ...{ transition: 'schedule', jobId, set: { format: ROW_FORMAT }, returns: 'nothing' },
      when: [[{ attribute: 'jobId', is: 'present' }]],
    });
  });

  it('is late when its wakes are dropped, and ticks alone start it', async () => {
    const watch = watchAlarms();
    wakeQueue(watch, 10);
    for (let minute = 0; minute < 5; minute++) {
      // A wake that was promised half a minute after the tick before, and that Lambda dropped.
      await editPromise({ wakeAt: Date.now() - 28_000 });
      await tick(60 * minute, watch);
    }
    expect(watch.wentOff(5)).toEqual({ ReaperLate: 2 });
  });

  it('is late when it may not send wakes', async () => {
    const watch = watchAlarms();
    deployed.functions.reaper.gate.breakBy(denied(/^sqs:SendMessage on WakeQueue/));
    for (let minute = 0; minute < 3; minute++) {
      await editPromise({ wakeAt: Date.now() - 28_000 - 60_000 * minute });
      expect(await tick(60 * minute, watch)).toMatchObject({ outcome: 'functionError' });
    }
    expect(watch.wentOff(10)).toMatchObject({ ReaperLate: 2 });
  });

  it('and the dead-letter consumer tells when its role may not use the table', async () => {
    const watch = watchAlarms();
    deployed.functions['dead-letter'].gate.breakBy(denied(/^dynamodb:/));
    const bodies = [1, 2, 3].map((n) => jobBody('count-primes', { below: 10 }, { jobId: `dead-${n}` }));
    const event = await deployed.batch(deployed.queues.deadLetterQueue, bodies);
    const reply = await at(0, watch, () => deployed.functions['dead-letter'].invoke(event));
    expect(reply).toMatchObject({ payload: { batchItemFailures: [{}, {}, {}] } });
    expect(watch.wentOff(10)).toEqual({ StoreFailures: 1 });
  });
});

/** SQS tells of messages visible or taken only while there are such messages. */
describe('what only SQS can tell', () => {
  const minutes = (from: number, to: number, put: (second: number) => void) => {
    for (let minute = from; minute < to; minute++) put(60 * minute);
  };
  const AGE = 'AWS/SQS ApproximateAgeOfOldestMessage Queue';
  const CLAIMED = 'Leasehold JobsClaimed';

  // Lambda takes the messages of a throttled function and keeps trying, so they are not visible, and they are received:
  // https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html. Age counts what is not deleted.
  it('is that the worker function is not invoked: no concurrency, or its event source is off', async () => {
    const watch = watchAlarms();
    const event = await message('count-primes', { below: 10 });
    await at(-1, watch, () => deployed.functions.worker.invoke(event));
    minutes(0, 40, (second) => watch.put(AGE, second, second + 30));
    expect(watch.wentOff(40)).toEqual({ QueueStalled: 18 });
  });

  it('is nothing in a backlog that is worked off, however slowly', () => {
    const watch = watchAlarms();
    minutes(0, 55, (second) => watch.put(AGE, second, second + 30));
    // Jobs of 15 minutes, which take every place that there is.
    for (const minute of [0, 15, 30, 45]) watch.put(CLAIMED, 60 * minute + 59, 2);
    expect(watch.wentOff(55)).toEqual({});
  });

  it.each(['ApproximateNumberOfMessagesVisible', 'ApproximateNumberOfMessagesNotVisible'])(
    'is that dead letters stay, by %s alone',
    (metric) => {
      const watch = watchAlarms();
      minutes(-15, 20, (second) =>
        watch.put(`AWS/SQS ${metric} DeadLetterQueue`, second, second < 0 ? 0 : 1),
      );
      expect(watch.wentOff(20)).toEqual({ DeadLetters: 15 });
    },
  );

  it('is how old the oldest message is', () => {
    const watch = watchAlarms();
    minutes(0, 90, (second) => {
      watch.put(AGE, second, second);
      watch.put(CLAIMED, second, 1);
    });
    expect(watch.wentOff(90)).toEqual({ QueueAge: 61 });
  });
});

const outage: Breakage = (asked) =>
  asked.some((each) => each.startsWith('dynamodb:'))
    ? { status: 500, error: 'InternalServerError' }
    : undefined;
