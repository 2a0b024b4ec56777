import { SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { clientDefaults, withoutLog } from '../client-defaults.ts';
import { signingPlainRequests } from '../sign-requests.ts';

const CONNECTION_TIMEOUT_MS = 1000;
/** Above SQS's longest poll of 20 s, so that only a reply that will never come is given up. */
const REQUEST_TIMEOUT_MS = 25_000;
const MAX_SDK_ATTEMPTS = 3;

/** For clients that only send: whoever waits for them is told within seconds. */
const SEND_TIMEOUT_MS = 2000;
const SEND_ATTEMPTS = 2;

/** An SQS client with bounded waits. Region, credentials and endpoint come from the standard chain. */
export function createSqsClient(
  config: SQSClientConfig = {},
  /** Whether it also receives, which takes as long as a poll. */
  { polls = true }: { readonly polls?: boolean } = {},
): SQSClient {
  const client = withoutLog(
    new SQSClient({
      ...clientDefaults,
      maxAttempts: polls ? MAX_SDK_ATTEMPTS : SEND_ATTEMPTS,
      // TLS already protects what arrives; ten checksums per request only cost time.
      md5: false,
      requestHandler: {
        connectionTimeout: CONNECTION_TIMEOUT_MS,
        requestTimeout: polls ? REQUEST_TIMEOUT_MS : SEND_TIMEOUT_MS,
        throwOnRequestTimeout: true,
      },
      ...config,
    }),
  );
  return signingPlainRequests(client, 'sqs', config);
}
