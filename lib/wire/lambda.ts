/**
 * The part of Lambda's events that is read here. The types of `@types/aws-lambda` fit, but users need not install them.
 */
export interface SqsRecord {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes: {
    readonly SentTimestamp: string;
    readonly ApproximateReceiveCount: string;
    readonly AWSTraceHeader?: string;
  };
  readonly messageAttributes?: Readonly<Record<string, { readonly stringValue?: string } | undefined>>;
}

export interface SqsEvent {
  readonly Records: readonly SqsRecord[];
}

export interface LambdaContext {
  readonly functionName: string;
  readonly functionVersion: string;
  readonly memoryLimitInMB: string;
  readonly invokedFunctionArn: string;
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/** The messages that stay in the queue; the others are acknowledged. */
export interface SqsBatchResponse {
  readonly batchItemFailures: { itemIdentifier: string }[];
}

/** A function that is fed from a queue, and says which messages stay in it. */
export type SqsHandler = (event: SqsEvent, context: LambdaContext) => Promise<SqsBatchResponse>;
