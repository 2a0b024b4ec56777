import type { Context, SQSEvent } from 'aws-lambda';
import type { ReceivedMessage } from '../../lib/protocol/ports.ts';
import type { SqsHandler } from '../../lib/wire/lambda.ts';

/** An SQS batch as Lambda hands it over. */
const sqsEvent = (messages: readonly ReceivedMessage[]): SQSEvent => ({
  Records: messages.map(({ messageId, receiptHandle, body, sentAt, receiveCount }) => ({
    messageId,
    receiptHandle,
    body,
    attributes: {
      SentTimestamp: String(sentAt),
      ApproximateReceiveCount: String(receiveCount),
      SenderId: 'test',
      ApproximateFirstReceiveTimestamp: String(sentAt),
    },
    messageAttributes: {},
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:sqs:eu-west-1:123456789012:jobs',
    awsRegion: 'eu-west-1',
  })),
});

/** The context of an invocation with this much time left. */
export function lambdaContext(remainingMs = 60_000): Context {
  const endsAt = performance.now() + remainingMs;
  return {
    callbackWaitsForEmptyEventLoop: false,
    functionName: 'worker',
    functionVersion: '1',
    invokedFunctionArn: 'arn:aws:lambda:eu-west-1:123456789012:function:worker',
    memoryLimitInMB: '512',
    awsRequestId: 'request',
    logGroupName: 'group',
    logStreamName: 'stream',
    getRemainingTimeInMillis: () => Math.max(0, endsAt - performance.now()),
    done() {},
    fail() {},
    succeed() {},
  };
}

/** Invokes a handler with this much time left, and returns the ids of the messages that it did not acknowledge. */
export async function invoke(
  handler: SqsHandler,
  messages: readonly ReceivedMessage[],
  remainingMs?: number,
): Promise<string[]> {
  const { batchItemFailures } = await handler(sqsEvent(messages), lambdaContext(remainingMs));
  return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
}
