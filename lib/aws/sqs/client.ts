import { SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { clientDefaults, ownClientConfig, timeouts, withoutLogger } from '../client-defaults.ts';

/** Above SQS's longest poll of 20 s. */
const REQUEST_TIMEOUT_MS = 25_000;
const MAX_SDK_ATTEMPTS = 3;

/** Senders should learn of a failure within seconds. */
const SEND_TIMEOUT_MS = 2000;
const SEND_ATTEMPTS = 2;

export function createSqsClient(
  config: SQSClientConfig = {},
  { polls = true }: { readonly polls?: boolean } = {},
): SQSClient {
  return withoutLogger(
    new SQSClient({
      ...clientDefaults,
      maxAttempts: polls ? MAX_SDK_ATTEMPTS : SEND_ATTEMPTS,
      // TLS already protects the data, and ten checksums per request cost time.
      md5: false,
      // A queue's URL would override FIPS, dual stack and custom endpoints.
      useQueueUrlAsEndpoint: false,
      requestHandler: timeouts(polls ? REQUEST_TIMEOUT_MS : SEND_TIMEOUT_MS),
      ...ownClientConfig('SQS'),
      ...config,
    }),
  );
}
