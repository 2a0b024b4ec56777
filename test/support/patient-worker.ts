import { startWorker } from '../../lib/worker/hosts/start-worker.ts';

/** A worker process with a reaper inside. Run as a program. */
const worker = startWorker({ jobs: new URL('./patient-jobs.ts', import.meta.url), reaper: true });
await worker.stopped;
