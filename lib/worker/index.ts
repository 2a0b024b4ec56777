/** The hosts that run your jobs: as a Lambda function, or in a long-lived process. */
export { type Configuration, configurationFromEnvironment } from '../settings/environment.ts';
export { type ComposedWorker, type ComposeOptions, composeWorker } from './compose-worker.ts';
export { createDeadLetterHandler } from './dead-letter-host.ts';
export { createWorkerHandler } from './lambda-host.ts';
export { startWorkerProcess, type WorkerProcess, type WorkerProcessOptions } from './process-host.ts';
