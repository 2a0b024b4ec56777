import { createRequire } from 'node:module';
import { Queue, Reaper } from '@platformatic/job-queue';
import {
  answerQuestions,
  bystand,
  countCalls,
  orders,
  perform,
  repeat,
} from '../systems/measured-process.ts';
import { tell } from '../systems/report-line.ts';
import type { BenchJob } from '../systems/system.ts';
import { storageOf, visibilityTimeout } from './platformatic.ts';

const { mode, queue, profile, concurrency, stores } = orders();
const url = stores.redis ?? '';
const timeout = visibilityTimeout(profile);
const fromLibrary = createRequire(createRequire(import.meta.url).resolve('@platformatic/job-queue'));
const { Redis } = fromLibrary('iovalkey') as { Redis: { prototype: { sendCommand(): unknown } } };
countCalls(Redis.prototype, 'sendCommand');
answerQuestions();

const storage = storageOf(url, queue);
const reaper = new Reaper({ storage, visibilityTimeout: timeout });
reaper.on('error', (error: Error) => tell({ event: 'note', text: error.message }));

switch (mode) {
  case 'bystand': {
    const other = new Queue({ storage: storageOf(url, `${queue}-bystander`) });
    await other.start();
    tell({ event: 'ready' });
    await bystand(() => other.enqueue(crypto.randomUUID(), {}));
    break;
  }
  case 'strand': {
    // What its consumer does up to the call of the handler, without a loop for each job.
    await storage.connect();
    const worker = `dead-${process.pid}`;
    await storage.registerWorker(worker, 3_600_000);
    await repeat(concurrency, 20, async () => {
      const message = await storage.dequeue(worker, 1);
      if (message === null) return;
      const { id } = JSON.parse(message.toString()) as { id: string };
      await storage.setJobState(id, `processing:${Date.now()}:${worker}`);
    });
    tell({ event: 'ready' });
    break;
  }
  case 'reap':
    await storage.connect();
    tell({ event: 'ready' });
    await reaper.start();
    break;
  case 'work': {
    const consumer = new Queue<BenchJob, { by: number }>({
      storage,
      concurrency,
      visibilityTimeout: timeout,
      workerId: `worker-${process.pid}`,
    });
    consumer.execute(async (job: { payload: BenchJob; signal: AbortSignal }) =>
      perform(job.payload, job.signal),
    );
    consumer.on('error', (error: Error) => tell({ event: 'note', text: error.message }));
    await consumer.start();
    await reaper.start();
    tell({ event: 'ready' });
  }
}
