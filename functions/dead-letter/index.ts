import { createDeadLetterHandler } from '../../lib/worker/hosts/dead-letter-host.ts';

export const handler = createDeadLetterHandler();
