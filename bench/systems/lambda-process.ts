import { statSync } from 'node:fs';
import { jobBody } from '../../lib/wire/message.ts';
import { composeWorker } from '../../lib/worker/compose-worker.ts';
import { createLambdaHost } from '../../lib/worker/hosts/lambda-host.ts';
import { invoke } from '../../test/support/invoke.ts';
import { local, settingsOf } from './leasehold-settings.ts';
import { answerQuestions, bystand, orders, requestsFrom, startCounting } from './measured-process.ts';
import { tell } from './report-line.ts';
import { jobId } from './system.ts';

/** The worker function's own code, invoked with one message after the other. */
const { profile, queue: tableName, stores } = orders();
const file = process.env.BENCH_REQUESTS_FILE ?? '';
requestsFrom(() => statSync(file).size);
answerQuestions();

const parts = composeWorker({
  handlers: { jobs: new URL('./leasehold-jobs.ts', import.meta.url) },
  configuration: {
    settings: settingsOf(profile),
    resources: {
      ...{ tableName, queueUrl: `${stores.sqs}/000000000000/null` },
      ...{ serviceName: 'bench', eventBusName: 'default' },
    },
  },
  dynamodb: local(stores.dynamodb ?? ''),
  sqs: local(stores.sqs ?? ''),
});
const { handler, ready } = createLambdaHost(parts);
await ready;

async function oneMessage(): Promise<void> {
  const id = jobId();
  const body = jobBody('bench', { id, does: 'nothing', ms: 0 }, { jobId: id });
  const message = { messageId: id, receiptHandle: id, body, sentAt: Date.now(), receiveCount: 1 };
  const returned = await invoke(handler, [message]);
  if (returned.length > 0) throw new Error('a message was not acknowledged');
}

const WARM_UP = 200;
for (let i = 0; i < WARM_UP; i += 1) await oneMessage();
startCounting();
tell({ event: 'ready' });
await bystand(oneMessage);
