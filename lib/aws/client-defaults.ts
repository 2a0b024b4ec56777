import { defined } from '../wire/defined.ts';
import { OWN_AWS_VARIABLE, ownAwsVariables } from '../wire/environment.ts';

export const clientDefaults = {
  // Otherwise every request rebuilds its middleware.
  cacheMiddleware: true,
  // Shown in CloudTrail.
  customUserAgent: 'leasehold',
};

const CONNECTION_TIMEOUT_MS = 1000;

/** A request that hangs fails, also while it connects. */
export const timeouts = (requestTimeout: number) => ({
  connectionTimeout: CONNECTION_TIMEOUT_MS,
  requestTimeout,
  throwOnRequestTimeout: true,
});

/** The SDK's logger copies every request and reply, a third of a batch's cost. */
export function withoutLogger<T extends { readonly middlewareStack: { remove(name: string): boolean } }>(
  client: T,
): T {
  client.middlewareStack.remove('loggerMiddleware');
  return client;
}

export function clientConfig(
  environment: Readonly<Record<string, string | undefined>>,
  service: 'DYNAMODB' | 'SQS' | 'EVENTBRIDGE' | 'SCHEDULER' | 'CLOUDWATCH',
) {
  const region = environment.AWS_REGION ?? environment.AWS_DEFAULT_REGION;
  const endpoint = environment[`AWS_ENDPOINT_URL_${service}`] ?? environment.AWS_ENDPOINT_URL;
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  const sessionToken = environment.AWS_SESSION_TOKEN;
  return defined({
    region: region || undefined,
    endpoint: endpoint || undefined,
    credentials:
      accessKeyId && secretAccessKey
        ? { accessKeyId, secretAccessKey, sessionToken: sessionToken || undefined }
        : undefined,
  });
}

/** Set by the local stack, for Leasehold's clients alone. */
export const ownClientConfig = (service: 'DYNAMODB' | 'SQS' | 'EVENTBRIDGE') =>
  process.env[OWN_AWS_VARIABLE] ? clientConfig(ownAwsVariables(process.env), service) : {};
