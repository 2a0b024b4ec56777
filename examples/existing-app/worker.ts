import { createWorkerHandler } from '../../lib/worker/hosts/lambda-host.ts';
import { registry } from './registry.ts';

export const handler = createWorkerHandler(registry);
