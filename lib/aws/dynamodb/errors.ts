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

export const isThrottled = (error: unknown): boolean =>
  THROTTLED.has(String((error as { readonly name?: unknown } | undefined)?.name));

interface ThrottlingReason {
  readonly reason?: string;
  readonly resource?: string;
}

interface Throttled extends Error {
  readonly ThrottlingReasons?: readonly ThrottlingReason[];
  readonly throttlingReasons?: readonly ThrottlingReason[];
}

/** Statements of a batch have only a code and a message. */
const limitsByMessage: readonly (readonly [RegExp, limit: string])[] = [
  [/OnDemandThroughput/i, 'MaxOnDemandThroughputExceeded'],
  [/provisioned throughput/i, 'ProvisionedThroughputExceeded'],
  [/for your account/i, 'AccountLimitExceeded'],
  [/current capacity/i, 'KeyRangeThroughputExceeded'],
];

/** Names the limit and its table or index, as exactly as DynamoDB does. */
export function throttleReason(error: unknown, table = 'the table'): string {
  const { name, message, ThrottlingReasons, throttlingReasons } = error as Throttled;
  const named = (ThrottlingReasons ?? throttlingReasons ?? []).map(
    ({ reason, resource = table }) => `${reason} of ${resource.split(':table/').at(-1)}`,
  );
  if (named.length > 0) return [...new Set(named)].join(', ');
  const limit = limitsByMessage.find(([pattern]) => pattern.test(message))?.[1] ?? name;
  if (/secondary index/i.test(message)) return `${limit} of an index of ${table}`;
  return `${limit} of ${table}${/throughput for the table/i.test(message) ? '' : ' or an index'}`;
}

/** DynamoDB limit. */
const MAX_ROW_BYTES = 400 * 1024;

export interface StatementError {
  readonly Code?: string;
  readonly Message?: string;
}

export function storeError(operation: string, error: unknown): Error {
  if (error instanceof LeaseholdError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (isThrottled(error)) return new ThrottledError(operation, error, throttleReason(error));
  if (/item size.*exceed/i.test(message)) return new TooLargeError('row', MAX_ROW_BYTES + 1, MAX_ROW_BYTES);
  return new StoreUnavailableError(operation, error);
}

/** Gives every failure of a request one of the store's errors. */
export const answered = <Reply>(operation: string, request: Promise<Reply>): Promise<Reply> =>
  request.catch((error: unknown) => {
    throw storeError(operation, error);
  });

export function statementError(operation: string, { Code, Message }: StatementError): Error {
  const cause = new Error(Message ?? 'no message');
  cause.name = Code ?? 'Unknown';
  return storeError(operation, cause);
}

/** An attribute that cannot be added to is the row's fault, not the store's. */
export function writeError(write: RowWrite, error: unknown): Error {
  const message = error instanceof Error ? error.message : '';
  if (!/operand|incorrect data type/i.test(message)) return storeError(write.transition, error);
  return notANumber(write);
}

const notANumber = (write: RowWrite): BadRowError =>
  new BadRowError(
    write.jobId,
    `one of ${Object.values(write.sum ?? {})
      .map(({ of }) => `'${of}'`)
      .join(', ')} is not a number, so '${write.transition}' cannot add to it`,
  );
