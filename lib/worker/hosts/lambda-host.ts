import { setTimeout } from 'node:timers/promises';
import type { PowertoolsTelemetry } from '../../aws/telemetry.ts';
import type { ReceivedMessage } from '../../protocol/ports.ts';
import { configurationFromEnvironment } from '../../settings/environment.ts';
import type { SqsHandler, SqsRecord } from '../../wire/lambda.ts';
import { TRACEPARENT, traceOf } from '../../wire/trace.ts';
import { takeOrders } from '../cells/cell-orders.ts';
import { callerFile, type Handlers } from '../cells/create-cells.ts';
import { runCell } from '../cells/run-cell.ts';
import { type ComposeOptions, composeWorker } from '../compose-worker.ts';
import type { Registry } from '../registry.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { createBatchRunner } from './lambda-batch.ts';

type LambdaWorkerParts = WorkerParts & { readonly telemetry: PowertoolsTelemetry };

export type WorkerHandlerOptions = Partial<Omit<ComposeOptions, 'handlers'>> & {
  /** A worker put together elsewhere. @default - composed from the environment's variables */
  readonly parts?: LambdaWorkerParts;
  /** The file that a cell runs: the one that makes this call. @default - found by itself */
  readonly program?: string;
};

/** Init waits this long for the first cell; Lambda itself allows ten seconds. */
const READY_MS = 8000;

/**
 * The handler of a worker Lambda: claims the jobs of its batch, and runs them in a cell. Create it once, at the top level
 * of your function's module: the cell is a second process of that same module, in which this call never returns a host.
 */
export function createWorkerHandler(registry: Registry, options: WorkerHandlerOptions = {}): SqsHandler {
  const orders = takeOrders();
  if (orders !== undefined) {
    // When the module's top level has ended: what comes after this call is part of loading it.
    runCell(orders, () => new Promise((resolve) => setImmediate(() => resolve(registry))));
    return notAHost;
  }
  const { program = callerFile() } = options;
  return createLambdaHost({ registry, program }, options).handler;
}

/** The host alone, for cells that load their handlers from elsewhere. */
function createLambdaHost(
  handlers: Handlers,
  options: WorkerHandlerOptions = {},
): { readonly handler: SqsHandler; readonly ready: Promise<void> } {
  const parts = options.parts ?? composeFor(handlers, options);
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
  return { handler, ready: Promise.race([ready, setTimeout(READY_MS, undefined, { ref: false })]) };
}

function composeFor(handlers: Handlers, options: WorkerHandlerOptions): LambdaWorkerParts {
  const configuration = options.configuration ?? configurationFromEnvironment(process.env);
  const concurrency = configuration.settings.batchConcurrency;
  return composeWorker({ concurrency, ...options, configuration, handlers });
}

/** Wraps a handler of SQS batches so that its log lines name the request and its metrics are written at the end. */
export const withPowertools =
  ({ nameRequest, flush }: PowertoolsTelemetry, handler: SqsHandler): SqsHandler =>
  async (event, context) => {
    nameRequest(context);
    try {
      return await handler(event, context);
    } finally {
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

/** What the module exports in its second process, where no batch ever arrives. */
const notAHost: SqsHandler = async () => {
  throw new Error('this process is a cell; it takes no messages');
};
