import { type ErrorCause, LeaseholdError } from '../wire/leasehold-error.ts';

/** A row attribute is missing or has the wrong type. */
export class BadRowError extends LeaseholdError {
  static override readonly name: string = 'BadRowError';
  readonly jobId: string;

  constructor(jobId: string, problem: string) {
    super('BAD_ROW', `row '${jobId}': ${problem}. Run 'leasehold doctor --repair' to repair it or fail it`);
    this.jobId = jobId;
  }
}

/** A newer version wrote the row, so this version leaves it alone. */
export class NewerFormatError extends LeaseholdError {
  static override readonly name: string = 'NewerFormatError';
  constructor(jobId: string, format: number, known: number) {
    super(
      'NEWER_FORMAT',
      `row '${jobId}' has format ${format}; this version knows up to ${known} and leaves the job alone. Use the version that wrote it, or a newer one`,
    );
  }
}

export const concernsOneRow = (error: unknown): boolean =>
  error instanceof BadRowError || error instanceof NewerFormatError;

/** A job's payload or checkpoint, stored in separate rows, is gone. */
export class MissingDataError extends LeaseholdError {
  static override readonly name: string = 'MissingDataError';
  constructor(jobId: string, names: readonly string[]) {
    super(
      'MISSING_DATA',
      `the ${names.join(' and ')} of job '${jobId}' is gone: its data rows expired or were deleted. Send the job again under a new id`,
    );
  }
}

/** A value is larger than a row may store. Nothing was written. */
export class TooLargeError extends LeaseholdError {
  static override readonly name: string = 'TooLargeError';
  readonly bytes: number;
  readonly limit: number;

  constructor(what: string, bytes: number, limit: number) {
    super(
      'TOO_LARGE',
      `the ${what} has ${bytes} bytes; at most ${limit} are allowed. Put the data in S3 and store its key`,
    );
    this.bytes = bytes;
    this.limit = limit;
  }
}

/** A value cannot be written as JSON (a function, a BigInt, a cycle). Nothing was written. */
export class NotJsonError extends LeaseholdError {
  static override readonly name: string = 'NotJsonError';
  constructor(what: string, cause: unknown) {
    super(
      'NOT_JSON',
      `the ${what} cannot be stored as JSON; use plain objects, arrays, strings and numbers`,
      { cause },
    );
  }
}

/** DynamoDB throttled the request and all retries. */
export class ThrottledError extends LeaseholdError {
  static override readonly name: string = 'ThrottledError';
  constructor(operation: string, cause: unknown, reason?: string) {
    super(
      'THROTTLED',
      `DynamoDB throttled '${operation}'${reason === undefined ? '' : ` (${reason})`}; no job is lost. Raise the table's maximum throughput, or 'shards' if one index key is hot`,
      { cause },
    );
  }
}

export const missingPermission = (error: unknown): string | undefined =>
  error instanceof Error && /AccessDenied/.test(error.name)
    ? /not authorized to perform: ([\w-]+:\w+)/.exec(error.message)?.[1]
    : undefined;

const NEVER_RIGHT = ['CredentialsProviderError', 'UnrecognizedClientException', 'ResourceNotFoundException'];

/** Whether waiting cannot help: no region, no credentials, or no such table. */
export function isMisconfigured(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    NEVER_RIGHT.includes(error.name) ||
    /region is missing|region not accepted/i.test(error.message) ||
    isMisconfigured(error.cause)
  );
}

function requestFailed(service: string, operation: string, cause: unknown, check: string): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  const permission = missingPermission(cause);
  return permission === undefined
    ? `${service} did not answer '${operation}' (${text}); check ${check}, then retry`
    : `${service} refused '${operation}': these credentials lack the permission ${permission} (${text}); add it to the role, for example with the construct's grants`;
}

/** DynamoDB did not answer, so the outcome of the write is unknown. */
export class StoreUnavailableError extends LeaseholdError {
  static override readonly name: string = 'StoreUnavailableError';
  constructor(operation: string, cause: unknown) {
    const message = requestFailed('DynamoDB', operation, cause, "the table's name, region and network");
    super('STORE_UNAVAILABLE', message, { cause });
  }
}

/** A missing permission is an answer, not an outage. */
export const isOutage = (error: unknown): boolean =>
  error instanceof StoreUnavailableError && missingPermission(error.cause) === undefined;

/** The queue refused the request or did not answer. The rows are safe: the reaper sends their hints again. */
export class QueueUnavailableError extends LeaseholdError {
  static override readonly name: string = 'QueueUnavailableError';
  constructor(operation: string, cause: unknown) {
    const message = requestFailed('SQS', operation, cause, "the queue's URL, region and permissions");
    super('QUEUE_UNAVAILABLE', message, { cause });
  }
}

/** Thrown by a handler to fail the job for good, without further attempts. */
export class NonRetryableError extends LeaseholdError {
  static override readonly name: string = 'NonRetryableError';
  static override readonly code = 'NON_RETRYABLE';

  constructor(message: string, options?: ErrorCause) {
    super(NonRetryableError.code, message, options);
  }
}

/** Thrown by a handler to choose the delay of its retry, at most a day. It is charged like any error. */
export class RetryAfter extends LeaseholdError {
  static override readonly name: string = 'RetryAfter';
  static override readonly code = 'RETRY_AFTER';
  readonly ms: number;

  constructor(ms: number, message = `retry after ${ms} ms`, options?: ErrorCause) {
    super(RetryAfter.code, message, options);
    this.ms = ms;
  }
}
