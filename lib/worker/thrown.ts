import { RetryAfter } from '../protocol/errors.ts';
import { cutToBytes } from '../protocol/rows/json-text.ts';
import { declarations } from '../settings/settings.ts';
import { SchemaRefusedError } from './check-schema.ts';
import { describeError, loggableError, readOr } from './describe-error.ts';

/** Data, because an error object cannot leave its cell. */
export interface Thrown {
  readonly text: string;
  readonly loggable: string;
  readonly retryable: boolean;
  /** The text may quote the payload, so events show `loggable` instead. */
  readonly quotesPayload?: boolean;
  readonly retryAfterMs?: number;
}

export const MAX_ERROR_BYTES = 16 * 1024;
/** Compared by code, because a handler may be built with another copy of this package. */
const NON_RETRYABLE = 'NON_RETRYABLE';

/** `chosenWait` is the type's backoff function, which may throw. */
export const thrownBy = (error: unknown, chosenWait?: () => unknown): Thrown => ({
  text: cutToBytes(describeError(error), MAX_ERROR_BYTES),
  loggable: loggableError(error),
  retryable: !readOr(false, () => error instanceof Error && 'code' in error && error.code === NON_RETRYABLE),
  quotesPayload: readOr(false, () => error instanceof SchemaRefusedError),
  retryAfterMs: retryWaitOf(
    readOr<unknown>(undefined, () => (error instanceof RetryAfter ? error.ms : chosenWait?.())),
  ),
});

/** Undefined for invalid waits; capped by the settings. */
export const retryWaitOf = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0
    ? Math.min(Math.ceil(value), declarations.backoffCapMs.max)
    : undefined;
