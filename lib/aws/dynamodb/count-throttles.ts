import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Clock, Telemetry } from '../../protocol/ports.ts';
import { isThrottled, throttleReason } from './errors.ts';

interface BatchReply {
  readonly Responses?: readonly { readonly Error?: { readonly Code?: string; readonly Message?: string } }[];
  readonly UnprocessedKeys?: object;
}

interface Request {
  readonly TableName?: string;
  readonly Statements?: readonly { readonly Statement?: string }[];
}

function tableOf(request: object): string | undefined {
  const { TableName, Statements } = request as Request;
  return TableName ?? /"([^"]+)"/.exec(Statements?.[0]?.Statement ?? '')?.[1];
}

/** Successful replies can leave statements or reads undone. */
function leftUndone(output: object = {}, request: object): string[] {
  const { Responses, UnprocessedKeys = {} } = output as BatchReply;
  const statements = (Array.isArray(Responses) ? Responses : [])
    .map(({ Error: error }) => ({ name: error?.Code, message: error?.Message }))
    .filter(isThrottled)
    .map((error) => throttleReason(error, tableOf(request)));
  const [table] = Object.keys(UnprocessedKeys);
  return table === undefined ? statements : [...statements, `UnprocessedKeys of ${table}`];
}

export type OnThrottled = (reasons: readonly string[]) => void;

/** Counts every throttled attempt, even if the SDK's retry succeeds, as DynamoDB's own metric does. */
export function countThrottles(client: DynamoDBClient, throttled: OnThrottled): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        const reply = await next(args);
        const undone = leftUndone(reply.output, args.input);
        if (undone.length > 0) throttled(undone);
        return reply;
      } catch (error) {
        if (isThrottled(error)) throttled([throttleReason(error, tableOf(args.input))]);
        throw error;
      }
    },
    // Inside the SDK's retries, outside its deserializer.
    { step: 'deserialize', name: 'leaseholdThrottles', priority: 'high' },
  );
}

/** Throttling comes in thousands. */
const LOG_AGAIN_AFTER_MS = 60_000;

export function reportThrottles(
  telemetry: Pick<Telemetry, 'count' | 'countThrottled' | 'warn'>,
  clock: Pick<Clock, 'now'>,
): OnThrottled {
  const loggedAt = new Map<string, number>();
  return (reasons) => {
    telemetry.count('RequestsThrottled', reasons.length);
    const now = clock.now();
    for (const reason of reasons) telemetry.countThrottled?.(reason, 1);
    for (const reason of new Set(reasons)) {
      if (now - (loggedAt.get(reason) ?? Number.NEGATIVE_INFINITY) < LOG_AGAIN_AFTER_MS) continue;
      loggedAt.set(reason, now);
      telemetry.warn('DynamoDB throttled', { reason });
    }
  };
}
