import { BadRowError, StoreUnavailableError, ThrottledError, TooLargeError } from '../../protocol/errors.ts';
import type { RowWrite } from '../../protocol/writes/row-write.ts';
import { LeaseholdError } from '../../wire/leasehold-error.ts';

const THROTTLED = new Set([
  'ProvisionedThroughputExceededException',
  'ProvisionedThroughputExceeded',
  'RequestLimitExceeded',
  'ThrottlingException',
  'ThrottlingError',
]);

/** Whether an error, or a code of one, means that DynamoDB refused for load. */
export const isThrottled = (error: unknown): boolean =>
  THROTTLED.has(String((error as { readonly name?: unknown } | undefined)?.name));

/** DynamoDB's own limit for one row. */
const MAX_ROW_BYTES = 400 * 1024;

/** What went wrong with one statement of a batch. */
export interface StatementError {
  readonly Code?: string;
  readonly Message?: string;
}

/** The failure of a request as a typed error that says what to do. */
export function storeError(operation: string, error: unknown): Error {
  if (error instanceof LeaseholdError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (isThrottled(error)) return new ThrottledError(operation, error);
  if (/item size.*exceed/i.test(message)) return new TooLargeError('row', MAX_ROW_BYTES + 1, MAX_ROW_BYTES);
  return new StoreUnavailableError(operation, error);
}

/** The failure of one statement, from its code in the batch's reply. */
export function statementError(operation: string, { Code, Message }: StatementError): Error {
  const cause = new Error(Message ?? 'no message');
  cause.name = Code ?? 'Unknown';
  return storeError(operation, cause);
}

/** The failure of a write: an attribute that cannot be added to is the row's fault, not the store's. */
export function writeError(write: RowWrite, error: unknown): Error {
  const message = error instanceof Error ? error.message : '';
  if (!/operand|incorrect data type/i.test(message)) return storeError(write.transition, error);
  return notANumber(write);
}

/** A row whose counters cannot be added to. */
const notANumber = (write: RowWrite): BadRowError =>
  new BadRowError(
    write.jobId,
    `one of ${Object.values(write.sum ?? {})
      .map(({ of }) => `'${of}'`)
      .join(', ')} is not a number, so '${write.transition}' cannot add to it`,
  );
