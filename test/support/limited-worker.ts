import { startWorker } from '../../lib/worker/hosts/start-worker.ts';

/** A worker process of jobs with limits. Run as a program. */
const host = startWorker({ jobs: new URL('./limited-jobs.ts', import.meta.url) });
process.send?.('started');
await host.stopped;
// A supervisor's channel would keep the process.
process.disconnect?.();
