import middy from '@middy/core';
import type { LambdaContext, SqsBatchResponse, SqsEvent } from '../../lib/wire/lambda.ts';
import { createDeadLetterHandler } from '../../lib/worker/hosts/dead-letter-host.ts';

/** Puts the jobs of messages that no worker could take into rows, from where they are dispatched again. */
export const handler = middy<SqsEvent, SqsBatchResponse, Error, LambdaContext>({
  timeoutEarlyInMillis: 0,
}).handler(createDeadLetterHandler());
