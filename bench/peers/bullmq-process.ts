import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
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
import { connectionOf, workerOptions } from './bullmq.ts';

const { mode, queue, profile, concurrency, stores } = orders();
const connection = connectionOf(stores.redis ?? '');
const options = { connection, concurrency, ...workerOptions(profile) };
countCalls(Redis.prototype, 'sendCommand');
answerQuestions();

if (mode === 'bystand') {
  const other = new Queue(`${queue}-bystander`, { connection });
  await other.waitUntilReady();
  tell({ event: 'ready' });
  await bystand(() => other.add('job', {}));
} else if (mode === 'strand') {
  const worker = new Worker(queue, null, { ...options, concurrency: 1, autorun: false });
  await worker.waitUntilReady();
  await repeat(concurrency, 50, () => worker.getNextJob(`${process.pid}`, { block: false }));
  tell({ event: 'ready' });
} else {
  const run = (job: { data: BenchJob }, _token?: string, signal?: AbortSignal) => perform(job.data, signal);
  const worker = new Worker(queue, run, { ...options, autorun: mode === 'work' });
  worker.on('error', (error) => tell({ event: 'note', text: error.message }));
  await worker.waitUntilReady();
  tell({ event: 'ready' });
  if (mode === 'reap') await worker.startStalledCheckTimer();
}
