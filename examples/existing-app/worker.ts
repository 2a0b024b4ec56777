import { createWorkerHandler } from '../../lib/worker/lambda-host.ts';
import { registry } from './registry.ts';

export const handler = createWorkerHandler(registry);
