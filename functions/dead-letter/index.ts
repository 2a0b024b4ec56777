import { createDeadLetterHandler } from '../../lib/worker/hosts/dead-letter-host.ts';

/** Puts the jobs of messages that no worker could take into rows, from where they are dispatched again. */
export const handler = createDeadLetterHandler();
