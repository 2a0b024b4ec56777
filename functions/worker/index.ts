import middy from '@middy/core';
import { registry } from '../../examples/registry.ts';
import type { LambdaContext, SqsBatchResponse, SqsEvent } from '../../lib/wire/lambda.ts';
import { createWorkerHandler } from '../../lib/worker/hosts/lambda-host.ts';

/** Runs the jobs of the queue. Your own worker looks the same, with your own registry. */
export const handler = middy<SqsEvent, SqsBatchResponse, Error, LambdaContext>({
  // The batch keeps its own deadline, and answers for each message; middy's early timeout would fail them all.
  timeoutEarlyInMillis: 0,
}).handler(createWorkerHandler(registry));
