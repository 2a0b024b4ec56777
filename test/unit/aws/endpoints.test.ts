import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock as clock } from '../../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../../lib/aws/dynamodb/client.ts';
import { createEventBridgeEvents } from '../../../lib/aws/eventbridge.ts';
import { createSqsClient } from '../../../lib/aws/sqs/client.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** What may choose another host, as Lambda's environment would have it. */
interface Surroundings {
  readonly region: string;
  readonly fips?: boolean;
  readonly dual?: boolean;
  /** In the credentials: DynamoDB has hosts by account. */
  readonly account?: boolean;
  /** `AWS_ENDPOINT_URL_SQS` and its like, or `AWS_ENDPOINT_URL` for all of them. */
  readonly url?: boolean | 'one';
}

/** The hosts that the product's own clients ask, each caught at its last step. */
async function hosts({ region, fips, dual, account, url }: Surroundings): Promise<readonly string[]> {
  const variables = {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_USE_FIPS_ENDPOINT: fips && 'true',
    AWS_USE_DUALSTACK_ENDPOINT: dual && 'true',
    AWS_ACCOUNT_ID: account && '123456789012',
    AWS_ENDPOINT_URL: url === 'one' && 'https://proxy.example.com',
    AWS_ENDPOINT_URL_DYNAMODB: url === true && 'https://dynamodb.vpce.example.com',
    AWS_ENDPOINT_URL_SQS: url === true && 'https://sqs.vpce.example.com',
    AWS_ENDPOINT_URL_EVENTBRIDGE: url === true && 'https://events.vpce.example.com',
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value || undefined);
  vi.spyOn(console, 'warn');
  const asked: string[] = [];
  const requestHandler = {
    handle: async ({ hostname }: { readonly hostname: string }) => {
      asked.push(hostname);
      throw new Error('caught');
    },
  };
  const config = { requestHandler, maxAttempts: 1 } as never;
  const QueueUrl = `https://sqs.${region}.amazonaws.com/123456789012/jobs`;
  const dynamoDb = createDynamoDbClient({ clock, config });
  const sqs = createSqsClient(config);
  await dynamoDb.send(new DescribeTableCommand({ TableName: 'jobs' })).catch(() => {});
  await sqs.send(new GetQueueAttributesCommand({ QueueUrl })).catch(() => {});
  const telemetry = { warn() {} };
  const events = createEventBridgeEvents({ busName: 'default', serviceName: 'test', telemetry, config });
  await events.publish([{ name: 'JobDone', detail: { at: 0 } } as never]);
  // The SDK warns of a queue's URL with another host at every request.
  expect(console.warn).not.toHaveBeenCalled();
  return asked;
}

describe('the hosts that DynamoDB, SQS and EventBridge are asked at', () => {
  it.each<[Surroundings, names: string, domain: string]>([
    [{ region: 'eu-west-1' }, 'dynamodb sqs events', 'eu-west-1.amazonaws.com'],
    [{ region: 'eu-west-1', account: true }, '123456789012.ddb sqs events', 'eu-west-1.amazonaws.com'],
    [{ region: 'us-east-1', fips: true }, 'dynamodb-fips sqs-fips events-fips', 'us-east-1.amazonaws.com'],
    [{ region: 'us-east-1', dual: true }, 'dynamodb sqs events', 'us-east-1.api.aws'],
    [{ region: 'us-east-1', dual: true, account: true }, '123456789012.ddb sqs events', 'us-east-1.api.aws'],
    [
      { region: 'us-east-1', fips: true, dual: true, account: true },
      'dynamodb-fips sqs-fips events-fips',
      'us-east-1.api.aws',
    ],
    [{ region: 'us-gov-west-1' }, 'dynamodb sqs events', 'us-gov-west-1.amazonaws.com'],
    [{ region: 'us-gov-west-1', fips: true }, 'dynamodb sqs events', 'us-gov-west-1.amazonaws.com'],
    [
      { region: 'us-gov-west-1', fips: true, dual: true },
      'dynamodb-fips sqs-fips events',
      'us-gov-west-1.api.aws',
    ],
    [{ region: 'cn-north-1', account: true }, '123456789012.ddb sqs events', 'cn-north-1.amazonaws.com.cn'],
    [{ region: 'cn-north-1', dual: true }, 'dynamodb sqs events', 'cn-north-1.api.amazonwebservices.com.cn'],
    [{ region: 'eusc-de-east-1' }, 'dynamodb sqs events', 'eusc-de-east-1.amazonaws.eu'],
    [{ region: 'eu-west-1', url: true }, 'dynamodb sqs events', 'vpce.example.com'],
    [{ region: 'eu-west-1', url: true, account: true }, 'dynamodb sqs events', 'vpce.example.com'],
    [{ region: 'eu-west-1', url: 'one', account: true }, 'proxy proxy proxy', 'example.com'],
  ])('%j: %s of %s', async (surroundings, names, domain) => {
    expect(await hosts(surroundings)).toEqual(names.split(' ').map((name) => `${name}.${domain}`));
  });

  it.each<Surroundings>([
    { region: 'us-east-1', fips: true, url: true },
    { region: 'us-east-1', dual: true, url: 'one' },
  ])('are none for %j, which the SDK refuses', async (surroundings) => {
    expect(await hosts(surroundings)).toEqual([]);
  });
});
