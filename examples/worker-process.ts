import { startWorker } from 'leasehold/worker';

/**
 * A worker as a long-lived process (a container, a virtual machine) instead of a Lambda, with a reaper inside: one such
 * process is enough to heal whatever other workers left behind. It reads the same variables as the functions.
 */
const worker = startWorker({ jobs: new URL('./registry.ts', import.meta.url), reaper: true });
await worker.stopped;
