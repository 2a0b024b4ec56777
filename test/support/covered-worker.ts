import { startWorker } from '../../lib/worker/hosts/start-worker.ts';
import { filesRun } from './covered-jobs.ts';

/** A worker process that answers each message of its parent with the files of lib that it has run since the last. Run as a program. */
const host = startWorker({ jobs: new URL('./covered-jobs.ts', import.meta.url), cells: 1 });
process.on('message', () => process.send?.(filesRun()));
await host.stopped;
process.disconnect?.();
