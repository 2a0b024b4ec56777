import { createHash, createHmac, randomBytes } from 'node:crypto';
import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { ListQueuesCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { SigningHash } from '../../lib/aws/signing-hash.ts';
import { createSqsClient } from '../../lib/aws/sqs/client.ts';
import { createHandClock } from '../../lib/testing/hand-clock.ts';

/** A handler that keeps the headers of each request. */
function recording() {
  const headers: Record<string, string>[] = [];
  const config = {
    region: 'eu-west-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    requestHandler: {
      handle: async (request: { headers: Record<string, string> }) => {
        headers.push({ ...request.headers });
        return { response: { statusCode: 200, headers: {}, body: new Uint8Array(Buffer.from('{}')) } };
      },
    } as never,
  };
  return { headers, config };
}

describe('a request', () => {
  it('says to DynamoDB and to SQS who asks, and is signed', async () => {
    const { headers, config } = recording();
    const dynamoDb = createDynamoDbClient({ clock: createHandClock(), config });
    await dynamoDb.send(new GetItemCommand({ TableName: 't', Key: { jobId: { S: 'j' } } }));
    await createSqsClient(config).send(new ListQueuesCommand({}));
    expect(headers).toHaveLength(2);
    for (const each of headers) {
      expect(each['user-agent']).toMatch(/^leasehold /);
      expect(each.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=a\/.*Signature=[0-9a-f]{64}$/);
    }
  });

  it('is put together without copies for a log', () => {
    const { config } = recording();
    for (const client of [
      createDynamoDbClient({ clock: createHandClock(), config }),
      createSqsClient(config),
    ]) {
      const names = client.middlewareStack.identify().join();
      expect(names).toContain('leaseholdUserAgent');
      expect(names).not.toMatch(/loggerMiddleware|getUserAgentMiddleware/);
    }
  });
});

describe('the hash that signs requests', () => {
  const data = randomBytes(500);
  const digestOf = async (hash: SigningHash) => {
    hash.update(data.subarray(0, 100));
    hash.update(data.subarray(100));
    return Buffer.from(await hash.digest()).toString('hex');
  };

  it('is SHA-256', async () => {
    expect(await digestOf(new SigningHash())).toBe(createHash('sha256').update(data).digest('hex'));
  });

  it.each([
    ['a text', 'secret'],
    ['bytes', new Uint8Array(randomBytes(32))],
    ['a part of larger bytes', randomBytes(64).subarray(10, 42)],
    ['a buffer', new Uint8Array(randomBytes(32)).buffer],
  ])('is HMAC under %s, the first time, again and after a reset', async (_, secret) => {
    const key = typeof secret === 'string' ? secret : Buffer.from(new Uint8Array(secret));
    const expected = createHmac('sha256', key).update(data).digest('hex');
    const hash = new SigningHash(secret);
    expect(await digestOf(hash)).toBe(expected);
    hash.reset();
    expect(await digestOf(hash)).toBe(expected);
    expect(await digestOf(new SigningHash(secret))).toBe(expected);
  });

  it('tells keys apart that have the same length', async () => {
    const [one, other] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
    expect(await digestOf(new SigningHash(one))).not.toBe(await digestOf(new SigningHash(other)));
  });
});
