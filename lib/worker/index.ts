import '../node-version.ts';

/** The hosts that run your jobs: as a Lambda function, or in a long-lived process. */
export type { SqsHandler } from '../wire/lambda.ts';
export type { WorkerProcess } from './hosts/process-host.ts';
export { type StartWorkerOptions, startWorker } from './hosts/start-worker.ts';
export { createWorkerHandler } from './hosts/worker-handler.ts';
