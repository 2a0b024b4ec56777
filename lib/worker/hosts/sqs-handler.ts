import { middy } from '../../aws/lambda/middy.ts';
import type { PowertoolsTelemetry } from '../../aws/telemetry.ts';
import type { ReceivedMessage } from '../../protocol/ports.ts';
import type { LambdaContext, SqsBatchResponse, SqsEvent, SqsHandler, SqsRecord } from '../../wire/lambda.ts';
import { TRACEPARENT, traceOf } from '../../wire/trace.ts';

type Messages = readonly ReceivedMessage[];

export const sqsHandler = (
  { middleware }: PowertoolsTelemetry,
  run: (messages: Messages, context: LambdaContext) => Promise<Messages>,
): SqsHandler =>
  // `run` has its own deadline; middy's early timeout would return the whole batch.
  middy<SqsEvent, SqsBatchResponse, Error, LambdaContext>({ timeoutEarlyInMillis: 0 })
    .use(middleware)
    .handler(async ({ Records }, context) => {
      const remaining = await run(Records.map(receivedMessage), context);
      return { batchItemFailures: remaining.map(({ messageId }) => ({ itemIdentifier: messageId })) };
    });

const receivedMessage = (record: SqsRecord): ReceivedMessage => ({
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
