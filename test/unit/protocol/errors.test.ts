import { describe, expect, it } from 'vitest';
import {
  NonRetryableError,
  QueueUnavailableError,
  StoreUnavailableError,
  ThrottledError,
} from '../../../lib/protocol/errors.ts';

describe('errors', () => {
  it('carry a stable code, their class’s name and the cause', () => {
    const cause = new Error('refused');
    const errors = [
      new ThrottledError('claim', cause),
      new StoreUnavailableError('claim', cause),
      new QueueUnavailableError('SendMessageBatch', cause),
      new NonRetryableError('bad input', { cause }),
    ];
    expect(errors.map(({ name, code }) => `${name} ${code}`)).toEqual([
      'ThrottledError THROTTLED',
      'StoreUnavailableError STORE_UNAVAILABLE',
      'QueueUnavailableError QUEUE_UNAVAILABLE',
      'NonRetryableError NON_RETRYABLE',
    ]);
    for (const error of errors) expect(error.cause).toBe(cause);
  });

  it('show a cause that is no error, too', () => {
    expect(new StoreUnavailableError('claim', 'gone').message).toContain(
      "DynamoDB did not answer 'claim' (gone)",
    );
    expect(new QueueUnavailableError('send', 'gone').message).toContain("SQS did not answer 'send' (gone)");
  });
});
