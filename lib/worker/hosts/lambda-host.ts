import { setTimeout } from 'node:timers/promises';
import type { PowertoolsTelemetry } from '../../aws/telemetry.ts';
import type { ReceivedMessage } from '../../protocol/ports.ts';
import { configurationFromEnvironment } from '../../settings/environment.ts';
import type { SqsHandler, SqsRecord } from '../../wire/lambda.ts';
import { FLUSH_MS } from '../../wire/metrics.ts';
import { TRACEPARENT, traceOf } from '../../wire/trace.ts';
import type { Cells } from '../cells/cells.ts';
import type { CellsOptions } from '../cells/host/fork-cells.ts';
import { composeHost, type HostOptions } from '../compose-worker.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { createBatchRunner } from './lambda-batch.ts';

type LambdaWorkerParts = WorkerParts & { readonly telemetry: PowertoolsTelemetry };

export type LambdaHostOptions = Partial<HostOptions> & {
  /** A worker put together elsewhere. @default - composed from the environment's variables */
  readonly parts?: LambdaWorkerParts;
};

/** Init waits this long for the first cell; Lambda itself allows ten seconds. */
const READY_MS = 8000;

/** The host of a worker Lambda: claims the jobs of its batch, and has them run in its cell. `ready` is what init should wait for. */
export function createLambdaHost(
  makeCells: (options: CellsOptions) => Cells,
  options: LambdaHostOptions = {},
): { readonly handler: SqsHandler; readonly ready: Promise<void> } {
  const parts = options.parts ?? composeFor(makeCells, options);
  const { cells, clockCheck } = parts;
  const runBatch = createBatchRunner(parts);
  // One comparison of the clocks while the cell loads: no claim is made before.
  const ready = Promise.all([cells.ready(), clockCheck.isSound()]).then(() => {});
  ready.catch(() => {});
  const handler = withPowertools(parts.telemetry, async (event, context) => {
    await ready;
    return runBatch(event.Records.map(receivedMessage), () => context.getRemainingTimeInMillis(), {
      requestId: context.awsRequestId,
      traceId: process.env._X_AMZN_TRACE_ID,
    });
  });
  // A module that cannot be loaded is told by the cells, and fails the invocation.
  const atMost = setTimeout(READY_MS, undefined, { ref: false });
  return { handler, ready: Promise.race([ready.catch(() => {}), atMost]) };
}

function composeFor(
  makeCells: (options: CellsOptions) => Cells,
  options: LambdaHostOptions,
): LambdaWorkerParts {
  const configuration = options.configuration ?? configurationFromEnvironment(process.env);
  const concurrency = configuration.settings.batchConcurrency;
  return composeHost({ concurrency, ...options, configuration }, makeCells);
}

/** Wraps a handler of SQS batches so that its log lines name the request, and its metrics are written every 10 s and at the end. */
export const withPowertools =
  ({ nameRequest, flush }: PowertoolsTelemetry, handler: SqsHandler): SqsHandler =>
  async (event, context) => {
    nameRequest(context);
    const flushing = setInterval(flush, FLUSH_MS).unref();
    try {
      return await handler(event, context);
    } finally {
      clearInterval(flushing);
      flush();
    }
  };

export const receivedMessage = (record: SqsRecord): ReceivedMessage => ({
  messageId: record.messageId,
  receiptHandle: record.receiptHandle,
  body: record.body,
  sentAt: Number(record.attributes.SentTimestamp),
  receiveCount: Number(record.attributes.ApproximateReceiveCount),
  trace: traceOf({
    traceparent: record.messageAttributes?.[TRACEPARENT]?.stringValue,
    awsTraceHeader: record.attributes.AWSTraceHeader,
  }),
});
