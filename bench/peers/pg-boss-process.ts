import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { answerQuestions, bystand, countCalls, orders, perform } from '../systems/measured-process.ts';
import { tell } from '../systems/report-line.ts';
import type { BenchJob } from '../systems/system.ts';
import { bossOptions, workOptions } from './pg-boss.ts';

const { mode, queue, profile, concurrency, stores } = orders();
countCalls(pg.Client.prototype, 'query');
answerQuestions();

const boss = new PgBoss({
  ...bossOptions(stores.postgres ?? '', profile),
  supervise: mode === 'work' || mode === 'reap',
  schedule: false,
});
boss.on('error', (error) => tell({ event: 'note', text: error.message }));

if (mode === 'reap') tell({ event: 'ready' });
await boss.start();
switch (mode) {
  case 'bystand':
    await boss.createQueue(`${queue}-bystander`);
    tell({ event: 'ready' });
    await bystand(() => boss.send(`${queue}-bystander`, {}));
    break;
  case 'strand':
    await boss.fetch(queue, { batchSize: concurrency });
    tell({ event: 'ready' });
    break;
  case 'work':
    await boss.work<BenchJob>(queue, workOptions(profile, concurrency), async (jobs) => {
      const results = await Promise.all(jobs.map((job) => perform(job.data, job.signal)));
      return results[0];
    });
    tell({ event: 'ready' });
    break;
  case 'reap':
    await boss.supervise(queue);
}
