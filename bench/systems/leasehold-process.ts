import { statSync } from 'node:fs';
import { GetQueueUrlCommand } from '@aws-sdk/client-sqs';
import { systemClock, systemRandom } from '../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { noEvents } from '../../lib/aws/eventbridge.ts';
import { createSqsClient } from '../../lib/aws/sqs/client.ts';
import { createSqsQueue } from '../../lib/aws/sqs/sqs-queue.ts';
import { createClockGuard } from '../../lib/protocol/clock-guard.ts';
import { claimOf } from '../../lib/protocol/job.ts';
import type { Telemetry } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { createEmbeddedReaper } from '../../lib/reaper/embedded.ts';
import { defaultCells } from '../../lib/worker/cells/host/memory.ts';
import { composeWorker } from '../../lib/worker/compose-worker.ts';
import { startWorkerProcess } from '../../lib/worker/hosts/process-host.ts';
import { local, settingsOf } from './leasehold-settings.ts';
import {
  answerQuestions,
  bystand,
  orders,
  requestsFrom,
  startCounting,
  untilCalm,
} from './measured-process.ts';
import { tell } from './report-line.ts';
import type { BenchJob } from './system.ts';

const { mode, queue: name, profile, concurrency, stores, without = [], settings: more } = orders();
const file = process.env.BENCH_REQUESTS_FILE ?? '';
requestsFrom(() => statSync(file).size);
answerQuestions();

let countFromNow = (): void => {
  startCounting();
  countFromNow = () => {};
};
/** Warnings and errors only: what a quiet production system logs. */
const telemetry: Telemetry & { flush(): void } = {
  info: () => {},
  warn: (text) => tell({ event: 'note', text }),
  error: (text, error) => tell({ event: 'note', text: `${text}: ${error}` }),
  count(name, jobs = 1) {
    // As where jobs run in the process itself: what it takes to get ready for the first job is no part of a job's price.
    if (name === 'JobsClaimed') countFromNow();
    if (name === 'JobsReclaimed') tell({ event: 'reclaimed', jobs });
  },
  gauge: () => {},
  flush: () => {},
};

const settings = settingsOf(profile, {
  ...more,
  processConcurrency: mode === 'work' ? concurrency : 1,
});
const sqs = createSqsClient(local(stores.sqs ?? ''));
const queueUrl = (await sqs.send(new GetQueueUrlCommand({ QueueName: name }))).QueueUrl ?? '';
const clockGuard = createClockGuard({ ...settings, clock: systemClock });
const client = createDynamoDbClient({ clock: systemClock, clockGuard, config: local(stores.dynamodb ?? '') });
const table = createDynamoDbTable({ client, tableName: name, batches: !without.includes('batches') });
const actor = `bench-${process.pid}`;
const clock = systemClock;
const store = createJobStore({ table, clock, random: systemRandom, settings, actor });
const queue = createSqsQueue({ client: sqs, queueUrl, clock });
const reaper = () =>
  createEmbeddedReaper({
    ...{ table, store, queue, telemetry, clock, random: systemRandom, settings, clockGuard },
    events: noEvents,
    name: actor,
  });

switch (mode) {
  case 'bystand': {
    const job = {
      ...{ jobId: `bystander-${process.pid}`, type: 'bench', payload: '{}', leaseMs: 3_600_000 },
      ...{ maxAttempts: 5, maxCrashes: 3 },
    };
    const claimed = await store.claim({ job, owner: `${actor}/1` });
    if (claimed.outcome !== 'claimed') throw new Error(`the bystander got no claim: ${claimed.outcome}`);
    const claim = claimOf(claimed.job);
    let until = claimed.job.leaseUntil;
    tell({ event: 'ready' });
    await bystand(async () => {
      until += 1;
      await store.heartbeat(claim, until);
    });
    break;
  }
  case 'strand': {
    const lane = async () => {
      for (;;) {
        const messages = await queue.receive({ max: 10, waitSeconds: 0 });
        if (messages.length === 0) return;
        const requests = messages.map(({ body }) => ({
          owner: `dead/${systemRandom.unique()}`,
          job: { ...newJob(JSON.parse(body) as { jobId: string; type: string; payload: BenchJob }) },
        }));
        await store.claimMany(requests);
        await queue.delete(messages);
      }
    };
    await Promise.all(Array.from({ length: 8 }, lane));
    tell({ event: 'ready' });
    break;
  }
  case 'reap':
    tell({ event: 'ready' });
    reaper().start();
    break;
  case 'work': {
    const parts = composeWorker({
      handlers: { jobs: new URL('./leasehold-jobs.ts', import.meta.url) },
      configuration: {
        settings,
        resources: { tableName: name, queueUrl, serviceName: 'bench', eventBusName: 'default' },
      },
      concurrency,
      cells: defaultCells(concurrency),
      spare: true,
      dynamodb: local(stores.dynamodb ?? ''),
      sqs: local(stores.sqs ?? ''),
    });
    await parts.cells.ready();
    await untilCalm();
    startWorkerProcess({
      parts: { ...parts, telemetry, store: without.includes('batches') ? store : parts.store },
      reaper: without.includes('reaper') ? undefined : reaper(),
    });
    tell({ event: 'ready' });
  }
}

function newJob(message: { jobId: string; type: string; payload: BenchJob }) {
  const { leaseMs, maxAttempts, maxCrashes } = settings;
  const { jobId, type } = message;
  return { jobId, type, payload: JSON.stringify(message.payload), leaseMs, maxAttempts, maxCrashes };
}
