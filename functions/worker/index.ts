import { registry } from '../../examples/registry.ts';
import { createWorkerHandler } from '../../lib/worker/hosts/lambda-host.ts';

/** Runs the jobs of the queue. Your own worker looks the same, with your own registry. */
export const handler = createWorkerHandler(registry);
