import { createDeadLetterHandler } from '../../lib/worker/hosts/dead-letter-host.ts';
import { registry } from './registry.ts';

export const handler = createDeadLetterHandler(registry);
