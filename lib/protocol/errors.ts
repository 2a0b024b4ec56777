import { LeaseholdError } from '../wire/leasehold-error.ts';

/** A row has an attribute that is missing or of the wrong type, so no decision can be made from it. */
export class BadRowError extends LeaseholdError {
  static override readonly name: string = 'BadRowError';
  readonly jobId: string;

  constructor(jobId: string, problem: string) {
    super('BAD_ROW', `row '${jobId}': ${problem}. Run 'leasehold doctor --repair' to repair it or fail it`);
    this.jobId = jobId;
  }
}

/** A newer version wrote the row: this one leaves the job alone. */
export class NewerFormatError extends LeaseholdError {
  static override readonly name: string = 'NewerFormatError';
  constructor(jobId: string, format: number, known: number) {
    super(
      'NEWER_FORMAT',
      `row '${jobId}' has format ${format}; this version knows up to ${known} and leaves the job alone. Use the version that wrote it, or a newer one`,
    );
  }
}

/** Whether an error concerns one row alone: others can still be worked on. */
export const concernsOneRow = (error: unknown): boolean =>
  error instanceof BadRowError || error instanceof NewerFormatError;

/** A job's payload or checkpoint, kept in rows of their own, is gone. */
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
      {
        cause,
      },
    );
  }
}

/** The store throttled the request, and all of the client's retries. */
export class ThrottledError extends LeaseholdError {
  static override readonly name: string = 'ThrottledError';
  constructor(operation: string, cause: unknown) {
    super(
      'THROTTLED',
      `DynamoDB throttled '${operation}'; it is found again by the next sweep. Raise the table's maximum throughput, or 'shards' if one index key is hot`,
      { cause },
    );
  }
}

/** The store could not be reached, or its reply never came: the outcome of the write is unknown. */
export class StoreUnavailableError extends LeaseholdError {
  static override readonly name: string = 'StoreUnavailableError';
  constructor(operation: string, cause: unknown) {
    super(
      'STORE_UNAVAILABLE',
      `DynamoDB did not answer '${operation}' (${cause instanceof Error ? cause.message : String(cause)}); check the table's name, region and network, then retry`,
      { cause },
    );
  }
}

/** The queue refused or could not be reached. The rows are safe: the reaper sends their hints again. */
export class QueueUnavailableError extends LeaseholdError {
  static override readonly name: string = 'QueueUnavailableError';
  constructor(operation: string, cause: unknown) {
    super(
      'QUEUE_UNAVAILABLE',
      `SQS did not answer '${operation}' (${cause instanceof Error ? cause.message : String(cause)}); check the queue's URL, region and permissions, then retry`,
      { cause },
    );
  }
}

/** Thrown by a handler to say that running the job again cannot help: it fails for good at once. */
export class NonRetryableError extends LeaseholdError {
  static override readonly name: string = 'NonRetryableError';
  static override readonly code = 'NON_RETRYABLE';

  constructor(message: string, options?: ErrorOptions) {
    super(NonRetryableError.code, message, options);
  }
}
