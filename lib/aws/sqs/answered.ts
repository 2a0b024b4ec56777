import { QueueUnavailableError } from '../../protocol/errors.ts';

/** Gives every failure of a request the queue's error. */
export const answered = <Reply>(operation: string, request: Promise<Reply>): Promise<Reply> =>
  request.catch((error: unknown) => {
    throw new QueueUnavailableError(operation, error);
  });
