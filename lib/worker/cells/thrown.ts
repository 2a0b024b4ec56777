import { SchemaRefusedError } from './cell/check-schema.ts';
import { describeError, loggableError } from './describe-error.ts';

/** What a handler threw, as data: the error itself does not leave its cell. */
export interface Thrown {
  /** As the row keeps it. */
  readonly text: string;
  /** As a log line may show it. */
  readonly loggable: string;
  /** Whether running the job again can help. */
  readonly retryable: boolean;
}

/** Recognised by its code: a handler may have been built with another copy of this package. */
const NON_RETRYABLE = 'NON_RETRYABLE';

export const thrownBy = (error: unknown): Thrown => ({
  text: describeError(error),
  loggable: loggableError(error),
  retryable: !isNonRetryable(error),
});

function isNonRetryable(error: unknown): boolean {
  try {
    return error instanceof Error && (error as Error & { code?: unknown }).code === NON_RETRYABLE;
  } catch {
    // A getter or a proxy that throws: whoever reads it must not die of it.
    return false;
  }
}

/** What a schema refused at the start of a run. */
export const refusedBySchema = (what: string, reason: string): Thrown =>
  thrownBy(new SchemaRefusedError(what, reason));
