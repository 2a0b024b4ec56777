/** The worker's hosts, for your own functions and processes. */
export { type ComposedWorker, type ComposeOptions, composeWorker } from './compose-worker.ts';
export { createDeadLetterHandler } from './dead-letter-host.ts';
export { createWorkerHandler, type WorkerHandlerOptions } from './lambda-host.ts';
export {
  type EmbeddedReaper,
  startWorkerProcess,
  type WorkerProcess,
  type WorkerProcessOptions,
} from './process-host.ts';
