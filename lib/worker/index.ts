import '../node-version.ts';

/** The hosts that run your jobs: as a Lambda function, or in a long-lived process. */
export { type Configuration, configurationFromEnvironment } from '../settings/environment.ts';
export type { SqsHandler } from '../wire/lambda.ts';
export { createDeadLetterHandler } from './hosts/dead-letter-host.ts';
export type { WorkerProcess } from './hosts/process-host.ts';
export { type StartWorkerOptions, startWorker } from './hosts/start-worker.ts';
export { createWorkerHandler } from './hosts/worker-handler.ts';
