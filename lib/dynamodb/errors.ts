import { LeaseholdError, StoreUnavailableError, ThrottledError, TooLargeError } from '../jobs/errors.ts';

const THROTTLED = new Set([
  'ProvisionedThroughputExceededException',
  'ProvisionedThroughputExceeded',
  'RequestLimitExceeded',
  'ThrottlingException',
  'ThrottlingError',
]);

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
  const name = error instanceof Error ? error.name : '';
  const message = error instanceof Error ? error.message : String(error);
  if (THROTTLED.has(name)) return new ThrottledError(operation, error);
  if (/item size.*exceed/i.test(message)) return new TooLargeError('row', MAX_ROW_BYTES + 1, MAX_ROW_BYTES);
  return new StoreUnavailableError(operation, error);
}

/** The failure of one statement, from its code in the batch's reply. */
export function statementError(operation: string, { Code, Message }: StatementError): Error {
  const cause = new Error(Message ?? 'no message');
  cause.name = Code ?? 'Unknown';
  return storeError(operation, cause);
}
