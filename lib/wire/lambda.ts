/** Compatible with `@types/aws-lambda`, without requiring users to install it. */
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
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/** The messages that stay in the queue; the others are acknowledged. */
export interface SqsBatchResponse {
  readonly batchItemFailures: { itemIdentifier: string }[];
}

/** A Lambda handler for a queue that reports which messages to keep. */
export type SqsHandler = (event: SqsEvent, context: LambdaContext) => Promise<SqsBatchResponse>;
