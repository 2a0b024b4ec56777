/** Where a job comes from, as tracing systems tell it. Kept with the job and given to its handler. */
export interface TraceContext {
  /** W3C Trace Context: https://www.w3.org/TR/trace-context/ */
  readonly traceparent?: string;
  /** X-Ray's header, which SQS carries as AWSTraceHeader. */
  readonly awsTraceHeader?: string;
}

/** The message attribute, and the key of a message, that carries the W3C's. */
export const TRACEPARENT = 'traceparent';

const VALID = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Longer than any that X-Ray makes. */
const LONGEST_HEADER = 500;
const HEADER = /^[\x20-\x7e]+$/;

export const isTraceparent = (value: unknown): value is string =>
  typeof value === 'string' && VALID.test(value);

const isTraceHeader = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= LONGEST_HEADER && HEADER.test(value);

/**
 * What can be used of what tracing layers put beside a message; undefined for nothing. What is malformed is left out, as the
 * W3C asks for: a job is worth more than its trace.
 */
export function traceOf(given: {
  readonly traceparent?: unknown;
  readonly awsTraceHeader?: unknown;
}): TraceContext | undefined {
  const traceparent = isTraceparent(given.traceparent) ? given.traceparent : undefined;
  const awsTraceHeader = isTraceHeader(given.awsTraceHeader) ? given.awsTraceHeader : undefined;
  if (traceparent === undefined && awsTraceHeader === undefined) return undefined;
  return { traceparent, awsTraceHeader };
}
