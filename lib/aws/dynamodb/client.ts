import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { ClockGuard } from '../../protocol/clock-guard.ts';
import type { Clock } from '../../protocol/ports.ts';
import { STORE_ATTEMPTS, STORE_TIMEOUT_MS } from '../../settings/heartbeat-timing.ts';
import { clientDefaults, ownClientConfig, timeouts, withoutLogger } from '../client-defaults.ts';
import { countThrottles, type OnThrottled } from './count-throttles.ts';

export interface DynamoDbClientOptions {
  readonly clock: Clock;
  readonly clockGuard?: ClockGuard;
  readonly onThrottled?: OnThrottled;
  readonly config?: DynamoDBClientConfig;
  readonly maxSockets?: number;
}

export function createDynamoDbClient(options: DynamoDbClientOptions): DynamoDBClient {
  const { clock, clockGuard, onThrottled, config = {}, maxSockets = 64 } = options;
  const client = withoutLogger(
    new DynamoDBClient({
      ...clientDefaults,
      maxAttempts: STORE_ATTEMPTS,
      requestHandler: {
        ...timeouts(STORE_TIMEOUT_MS),
        httpsAgent: { maxSockets },
        httpAgent: { maxSockets },
      },
      ...ownClientConfig('DYNAMODB'),
      ...config,
    }),
  );
  if (onThrottled !== undefined) countThrottles(client, onThrottled);
  if (clockGuard !== undefined) {
    client.middlewareStack.add(
      (next) => async (args) => {
        const sentAt = clock.monotonic();
        const output = await next(args);
        const { date } = (output.response as { headers: { date?: string } }).headers;
        const tookMs = clock.monotonic() - sentAt;
        if (date !== undefined) clockGuard.observe({ tookMs, receivedAt: clock.now(), date });
        return output;
      },
      { step: 'deserialize', name: 'leaseholdClockGuard', priority: 'low' },
    );
  }
  return client;
}

/** The document client rejects a client with cached middleware. */
export function documentClientOf(client: DynamoDBClient): DynamoDBDocumentClient {
  const config = { ...client.config, cacheMiddleware: false };
  const uncached: DynamoDBClient = Object.create(client, { config: { value: config } });
  return DynamoDBDocumentClient.from(uncached, {
    marshallOptions: { removeUndefinedValues: true },
    // One unsafe number in a hand-edited row must not make a page unreadable.
    unmarshallOptions: { wrapNumbers: Number },
  });
}
