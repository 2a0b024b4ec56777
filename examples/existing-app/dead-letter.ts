import { createDeadLetterHandler } from '../../lib/worker/dead-letter-host.ts';
import { registry } from './registry.ts';

export const handler = createDeadLetterHandler(registry);
