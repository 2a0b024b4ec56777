import { join } from 'node:path';
import middy from '@middy/core';
import type { LambdaContext, SqsBatchResponse, SqsEvent } from '../../lib/wire/lambda.ts';
import { startBundledHost } from '../../lib/worker/hosts/bundled-host.ts';

/** Keeps the leases of the jobs of the queue. They run in a cell, whose bundle is beside this one. */
const run = await startBundledHost(join(import.meta.dirname, 'cell.mjs'));

export const handler = middy<SqsEvent, SqsBatchResponse, Error, LambdaContext>({
  // The batch keeps its own deadline, and answers for each message; middy's early timeout would fail them all.
  timeoutEarlyInMillis: 0,
}).handler(run);
