import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { ClockGuard } from '../../protocol/clock-guard.ts';
import type { Clock } from '../../protocol/ports.ts';
import { clientDefaults, withoutLog } from '../client-defaults.ts';
import { signingPlainRequests } from '../sign-requests.ts';
import { countThrottles } from './count-throttles.ts';

/**
 * Attempts × timeout stays below the usual heartbeat interval; a beat that hangs for longer than a quarter of it has another beside it. The
 * timeout throws: a request that hangs must end while its lease is still known to be held.
 */
const REQUEST_TIMEOUT_MS = 2000;
const CONNECTION_TIMEOUT_MS = 1000;
const MAX_SDK_ATTEMPTS = 3;

export interface DynamoDbClientOptions {
  readonly clock: Clock;
  /** Told the time of each of DynamoDB's replies. */
  readonly clockGuard?: ClockGuard;
  /** Told of each attempt that DynamoDB refused for load, whether or not a later one succeeds. */
  readonly onThrottled?: (requests: number) => void;
  readonly config?: DynamoDBClientConfig;
  /** Connections open at once. */
  readonly maxSockets?: number;
}

/** A client with bounded waits, which shows each reply's `Date` to the clock guard. */
export function createDynamoDbClient(options: DynamoDbClientOptions): DynamoDBClient {
  const { clock, clockGuard, onThrottled, config = {}, maxSockets = 64 } = options;
  const client = withoutLog(
    new DynamoDBClient({
      ...clientDefaults,
      maxAttempts: MAX_SDK_ATTEMPTS,
      requestHandler: {
        connectionTimeout: CONNECTION_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        throwOnRequestTimeout: true,
        httpsAgent: { maxSockets },
        httpAgent: { maxSockets },
      },
      ...config,
    }),
  );
  signingPlainRequests(client, 'dynamodb', config);
  if (onThrottled !== undefined) countThrottles(client, onThrottled);
  if (clockGuard !== undefined) {
    client.middlewareStack.add(
      (next) => async (args) => {
        const sentAt = clock.now();
        const output = await next(args);
        const { date } = (output.response as { headers: { date?: string } }).headers;
        if (date !== undefined) clockGuard.observe({ sentAt, receivedAt: clock.now(), date });
        return output;
      },
      { step: 'deserialize', name: 'leaseholdClockGuard', priority: 'low' },
    );
  }
  return client;
}

/**
 * The document client of `client`: the same connections, credentials and middleware, with plain values. It refuses a client that
 * keeps its middleware, so it gets a configuration of its own.
 */
export function documentClientOf(client: DynamoDBClient): DynamoDBDocumentClient {
  const config = { ...client.config, cacheMiddleware: false };
  const uncached: DynamoDBClient = Object.create(client, { config: { value: config } });
  return DynamoDBDocumentClient.from(uncached, {
    marshallOptions: { removeUndefinedValues: true },
    // Whatever its size: one number beyond the safe range, in one hand-edited row, must not make a page unreadable.
    unmarshallOptions: { wrapNumbers: Number },
  });
}
