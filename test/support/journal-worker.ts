import { configurationFromEnvironment } from '../../lib/settings/environment.ts';
import { composeWorker } from '../../lib/worker/compose-worker.ts';
import { startWorkerProcess } from '../../lib/worker/hosts/process-host.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { journalJob } from './journal-job.ts';

/** A worker process whose jobs keep a journal. Run as a program. */
const parts = composeWorker({
  registry: createRegistry([journalJob]),
  configuration: configurationFromEnvironment(process.env),
});
const host = startWorkerProcess({ parts, flush: parts.telemetry.flush });
process.send?.('started');
await host.stopped;
await parts.close();
process.disconnect?.();
