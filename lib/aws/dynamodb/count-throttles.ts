import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { isThrottled } from './errors.ts';

interface BatchReply {
  readonly Responses?: readonly { readonly Error?: { readonly Code?: string } }[];
  readonly UnprocessedKeys?: object;
}

/** What a reply of success leaves undone for load: statements of a batch, and rows that were not read. */
function leftUndone(output: object = {}): number {
  const { Responses, UnprocessedKeys = {} } = output as BatchReply;
  const statements = Array.isArray(Responses)
    ? Responses.filter(({ Error: error }) => isThrottled({ name: error?.Code })).length
    : 0;
  return statements + (Object.keys(UnprocessedKeys).length > 0 ? 1 : 0);
}

/**
 * Tells of each attempt that DynamoDB refused for load, whether or not the SDK's next one succeeds. Everybody who uses the
 * table does so by such a client, so this sees what DynamoDB counts as throttle events of the table and its index.
 */
export function countThrottles(client: DynamoDBClient, throttled: (requests: number) => void): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        const reply = await next(args);
        const undone = leftUndone(reply.output);
        if (undone > 0) throttled(undone);
        return reply;
      } catch (error) {
        if (isThrottled(error)) throttled(1);
        throw error;
      }
    },
    // Outside of what reads a reply, inside of what repeats a request.
    { step: 'deserialize', name: 'leaseholdThrottles', priority: 'high' },
  );
}
