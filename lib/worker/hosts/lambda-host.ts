import { setTimeout } from 'node:timers/promises';
import type { PowertoolsTelemetry } from '../../aws/telemetry.ts';
import { configurationFromEnvironment } from '../../settings/environment.ts';
import type { SqsHandler } from '../../wire/lambda.ts';
import type { Cells, CellsOptions } from '../cells/cells.ts';
import { type ComposedWorker, composeHost } from '../compose-worker.ts';
import { declareTypes } from '../declare-types.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { createBatchRunner } from './lambda-batch.ts';
import { sqsHandler } from './sqs-handler.ts';

/** Lambda's init phase ends after ten seconds. */
const READY_MS = 8000;

export function composeFunction(makeCells: (options: CellsOptions) => Cells): ComposedWorker {
  const configuration = configurationFromEnvironment(process.env);
  return composeHost({ configuration, concurrency: configuration.settings.batchConcurrency }, makeCells);
}

export function createLambdaHost(parts: WorkerParts & { readonly telemetry: PowertoolsTelemetry }): {
  readonly handler: SqsHandler;
  readonly ready: Promise<void>;
} {
  const { cells, clockCheck } = parts;
  const runBatch = createBatchRunner(parts);
  // No claim precedes the first clock comparison, so make it while the cell loads.
  const ready = Promise.all([cells.ready(), clockCheck.isSound()]).then(() => declareTypes(parts));
  ready.catch(() => {});
  const handler = sqsHandler(parts.telemetry, async (messages, context) => {
    await ready;
    return runBatch(messages, () => context.getRemainingTimeInMillis(), {
      requestId: context.awsRequestId,
      traceId: process.env._X_AMZN_TRACE_ID,
    });
  });
  // The cells report a module that cannot be loaded, and the invocation fails.
  const atMost = setTimeout(READY_MS, undefined, { ref: false });
  return { handler, ready: Promise.race([ready.catch(() => {}), atMost]) };
}
