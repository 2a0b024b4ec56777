/** Where a job comes from: stored with the job and passed to its handler. */
export interface TraceContext {
  /** W3C Trace Context: https://www.w3.org/TR/trace-context/ */
  readonly traceparent?: string;
  /** X-Ray's header, which SQS carries as AWSTraceHeader. */
  readonly awsTraceHeader?: string;
}

export const TRACEPARENT = 'traceparent';

const VALID = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const LONGEST_HEADER = 500;
const HEADER = /^[\x20-\x7e]+$/;

export const isTraceparent = (value: unknown): value is string =>
  typeof value === 'string' && VALID.test(value);

const isTraceHeader = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= LONGEST_HEADER && HEADER.test(value);

/** Drops malformed context, as the W3C requires: a job matters more than its trace. */
export function traceOf(given: {
  readonly traceparent?: unknown;
  readonly awsTraceHeader?: unknown;
}): TraceContext | undefined {
  const traceparent = isTraceparent(given.traceparent) ? given.traceparent : undefined;
  const awsTraceHeader = isTraceHeader(given.awsTraceHeader) ? given.awsTraceHeader : undefined;
  if (traceparent === undefined && awsTraceHeader === undefined) return undefined;
  return { traceparent, awsTraceHeader };
}
