import type { PowertoolsTelemetry } from '../../aws/telemetry.ts';
import type { ReceivedMessage } from '../../protocol/ports.ts';
import { configurationFromEnvironment } from '../../settings/environment.ts';
import type { SqsHandler, SqsRecord } from '../../wire/lambda.ts';
import { type ComposeOptions, composeWorker } from '../compose-worker.ts';
import { isHeartThread } from '../heart/thread-heart.ts';
import type { Registry } from '../registry.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { createBatchRunner } from './lambda-batch.ts';

type LambdaWorkerParts = WorkerParts & { readonly telemetry: PowertoolsTelemetry };

export type WorkerHandlerOptions = Partial<Omit<ComposeOptions, 'registry'>> & {
  /** A worker put together elsewhere. @default - composed from the environment's variables */
  readonly parts?: LambdaWorkerParts;
};

/** The handler of a worker Lambda: claims and runs the jobs of its batch. Create it once, at init. */
export function createWorkerHandler(registry: Registry, options: WorkerHandlerOptions = {}): SqsHandler {
  if (isHeartThread()) return notAWorker;
  const parts =
    options.parts ??
    composeWorker({
      ...options,
      registry,
      configuration: options.configuration ?? configurationFromEnvironment(process.env),
    });
  const runBatch = createBatchRunner(parts);
  return withPowertools(parts.telemetry, (event, context) =>
    runBatch(event.Records.map(receivedMessage), () => context.getRemainingTimeInMillis()),
  );
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
});

/** A bundle in one file is loaded a second time as the heart's thread, where no batch ever arrives. */
const notAWorker: SqsHandler = async () => {
  throw new Error('this copy of the bundle is the heart; it takes no messages');
};
