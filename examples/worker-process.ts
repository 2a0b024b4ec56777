import { createEmbeddedReaper } from '../lib/reaper/embedded.ts';
import { configurationFromEnvironment } from '../lib/settings/environment.ts';
import { composeWorker } from '../lib/worker/compose-worker.ts';
import { startWorkerProcess } from '../lib/worker/hosts/process-host.ts';
import { registry } from './registry.ts';

/**
 * A worker as a long-lived process (a container, a virtual machine) instead of a Lambda, with a reaper inside: one such
 * process is enough to heal whatever other workers left behind. It reads the same variables as the functions.
 */
const worker = composeWorker({ registry, configuration: configurationFromEnvironment(process.env) });
const flush = () => worker.telemetry.flush();
const reaper = createEmbeddedReaper({ ...worker, name: `reaper/${worker.worker}`, flush });

const host = startWorkerProcess({ parts: worker, reaper, flush });
await host.stopped;
await worker.close();
