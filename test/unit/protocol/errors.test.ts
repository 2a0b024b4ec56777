import { describe, expect, it } from 'vitest';
import {
  BadRowError,
  MissingDataError,
  NewerFormatError,
  NotJsonError,
  QueueUnavailableError,
  StoreUnavailableError,
  ThrottledError,
  TooLargeError,
} from '../../../lib/protocol/errors.ts';

const denied = (name: string, action: string): Error =>
  Object.assign(new Error(`User: u is not authorized to perform: ${action} on resource: t`), { name });

describe('errors', () => {
  it.each<[string, string, () => Error & { readonly code: string }]>([
    [
      'ThrottledError THROTTLED',
      "DynamoDB throttled 'claim'; no job is lost. Raise the table's maximum throughput, or 'shards' if one index key is hot",
      () => new ThrottledError('claim', undefined),
    ],
    [
      'BadRowError BAD_ROW',
      "row 'j1': 'type' is missing. Run 'leasehold doctor --repair' to repair it or fail it",
      () => new BadRowError('j1', "'type' is missing"),
    ],
    [
      'NewerFormatError NEWER_FORMAT',
      "row 'j1' has format 2; this version knows up to 1 and leaves the job alone. Use the version that wrote it, or a newer one",
      () => new NewerFormatError('j1', 2, 1),
    ],
    [
      'MissingDataError MISSING_DATA',
      "the payload and checkpoint of job 'j1' is gone: its data rows expired or were deleted. Send the job again under a new id",
      () => new MissingDataError('j1', ['payload', 'checkpoint']),
    ],
    [
      'TooLargeError TOO_LARGE',
      'the result has 300 bytes; at most 256 are allowed. Put the data in S3 and store its key',
      () => new TooLargeError('result', 300, 256),
    ],
    [
      'NotJsonError NOT_JSON',
      'the result cannot be stored as JSON; use plain objects, arrays, strings and numbers',
      () => new NotJsonError('result', undefined),
    ],
    [
      'StoreUnavailableError STORE_UNAVAILABLE',
      "DynamoDB did not answer 'claim' (refused); check the table's name, region and network, then retry",
      () => new StoreUnavailableError('claim', new Error('refused')),
    ],
    [
      'QueueUnavailableError QUEUE_UNAVAILABLE',
      "SQS did not answer 'send' (refused); check the queue's URL, region and permissions, then retry",
      () => new QueueUnavailableError('send', new Error('refused')),
    ],
    [
      'StoreUnavailableError STORE_UNAVAILABLE',
      "DynamoDB refused 'claim': these credentials lack the permission dynamodb:UpdateItem (User: u is not authorized to perform: dynamodb:UpdateItem on resource: t); add it to the role, for example with the construct's grants",
      () => new StoreUnavailableError('claim', denied('AccessDeniedException', 'dynamodb:UpdateItem')),
    ],
    [
      'QueueUnavailableError QUEUE_UNAVAILABLE',
      "SQS refused 'send': these credentials lack the permission sqs:sendmessage (User: u is not authorized to perform: sqs:sendmessage on resource: t); add it to the role, for example with the construct's grants",
      () => new QueueUnavailableError('send', denied('AccessDenied', 'sqs:sendmessage')),
    ],
  ])('say what happened and what to do: %s', (called, message, made) => {
    const error = made();
    expect([`${error.name} ${error.code}`, error.message]).toEqual([called, message]);
  });
});
