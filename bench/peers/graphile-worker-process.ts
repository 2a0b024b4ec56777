import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { answerQuestions, bystand, countCalls, orders, perform } from '../systems/measured-process.ts';
import { tell } from '../systems/report-line.ts';
import type { BenchJob } from '../systems/system.ts';
import { schemaOf, workerOptions } from './graphile-worker.ts';
import { poolOf } from './postgres-pool.ts';

const { mode, queue, profile, concurrency, stores } = orders();
countCalls(pg.Client.prototype, 'query');
answerQuestions();

const schema = schemaOf(queue);
const pgPool = poolOf(stores.postgres, 10);
const silent = new Logger(() => () => {});
const job = async (payload: unknown, helpers: { abortSignal?: AbortSignal }) => {
  await perform(payload as BenchJob, helpers.abortSignal);
};

switch (mode) {
  case 'bystand': {
    const utils = await makeWorkerUtils({ pgPool, schema });
    tell({ event: 'ready' });
    // In the same tables, for another kind of job that nobody runs.
    await bystand(() => utils.addJob('bystander', {}));
    break;
  }
  case 'strand':
    // The lock that its fetch takes, for many jobs at once.
    await pgPool.query(
      `update "${schema}"._private_jobs set attempts = attempts + 1, locked_by = 'dead', locked_at = now()`,
    );
    tell({ event: 'ready' });
    break;
  case 'reap':
  case 'work': {
    if (mode === 'reap') tell({ event: 'ready' });
    await run({
      pgPool,
      logger: silent,
      noHandleSignals: true,
      taskList: mode === 'work' ? { job } : { nothing: job },
      preset: {
        worker: { schema, concurrentJobs: concurrency, ...workerOptions(profile, concurrency) },
      },
    });
    if (mode === 'work') tell({ event: 'ready' });
  }
}
