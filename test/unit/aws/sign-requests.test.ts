import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDynamoDbClient, documentClientOf } from '../../../lib/aws/dynamodb/client.ts';
import { signingPlainRequests } from '../../../lib/aws/sign-requests.ts';
import { createSqsClient } from '../../../lib/aws/sqs/client.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';

interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}
interface Options {
  readonly signingDate?: unknown;
  readonly signingRegion?: string;
  readonly signingService?: string;
}
type Sign = (request: Request, options: Options) => Promise<Request>;
type Provider = (scheme?: object) => Promise<{ readonly sign: Sign }>;

const KEY = { accessKeyId: 'AKID', secretAccessKey: 'secret' };
const DATE = new Date('2026-11-18T01:02:03.456Z');
const plain: Request = {
  ...{ method: 'POST', path: '/', query: {}, body: '{"a":"é"}' },
  headers: { host: 'sqs.eu-west-1.amazonaws.com', 'content-type': 'application/x-amz-json-1.0' },
};

/** A client that signs by itself, and the SDK's way to do it, which notes what it was asked for. */
function signers(
  credentials: object | (() => Promise<object>) = KEY,
  region: string | (() => Promise<string>) = 'eu-west-1',
) {
  const client = new SQSClient({ region, credentials: credentials as typeof KEY });
  const config = client.config as unknown as { signer: Provider };
  const ofSdk = config.signer;
  const asked: (object | undefined)[] = [];
  config.signer = (scheme) => {
    asked.push(scheme);
    return ofSdk(scheme);
  };
  signingPlainRequests(client, 'sqs', {});
  const by =
    (provider: Provider): Sign =>
    async (request, options) =>
      (await provider()).sign(request, options);
  return { asked, provider: config.signer, own: by(config.signer), sdk: by(ofSdk) };
}

/** Signers whose credentials change as soon as others are chosen: the SDK keeps those that do not expire. */
function rotating() {
  let credentials: object = KEY;
  let region = 'eu-west-1';
  const both = signers(
    async () => ({ ...credentials, expiration: new Date(0) }),
    async () => region,
  );
  return {
    ...both,
    // The SDK keeps the first region that it signed for.
    sdk: ((request, options) => both.sdk(request, { ...options, signingRegion: region })) as Sign,
    use(chosen: object) {
      credentials = chosen;
    },
    move(to: string) {
      region = to;
    },
  };
}

const name = fc.stringMatching(/^(x-amz-|amz-|proxy-|sec-|)[a-z][a-z0-9-]{0,12}$/);
const value = fc.oneof(fc.string(), fc.stringMatching(/^[ \t\r\n]*[a-z \t]*[ \t\r\n]*$/));
const UNSIGNED = {
  connection: 'close',
  'user-agent': 'x',
  te: 'y',
  'x-amzn-trace-id': 'Root=1',
  expect: 'z',
};

describe('a signature of a plain request', () => {
  it('is the SDK’s, whatever the headers, the text, the time and the credentials', async () => {
    const { asked, own, sdk, use } = rotating();
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(name, value, { noNullPrototype: true }),
        fc.oneof(fc.string({ unit: 'binary' }), fc.uint8Array()),
        fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }),
        fc.record(
          { accessKeyId: fc.string(), secretAccessKey: fc.string(), sessionToken: fc.string() },
          { requiredKeys: ['accessKeyId', 'secretAccessKey'] },
        ),
        async (more, body, signingDate, chosen) => {
          for (const made of ['authorization', 'date', 'x-amz-date', 'x-amz-content-sha256'])
            delete more[made];
          use(chosen);
          const request = { ...plain, body, headers: { ...plain.headers, ...UNSIGNED, ...more } };
          const signed = await own(request, { signingDate });
          expect(asked).toEqual([]);
          expect(signed.headers.authorization).toContain(`Credential=${chosen.accessKeyId}/`);
          expect(signed.headers).toEqual((await sdk(request, { signingDate })).headers);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('is made with the key of its credentials, its day and its region, however often they change', async () => {
    const { own, sdk, use, move } = rotating();
    const seen = new Set<string>();
    const other = { ...KEY, secretAccessKey: 'other' };
    const later = new Date(DATE.getTime() + 86_400_000);
    for (const [credentials, signingDate, region] of [
      [KEY, DATE, 'eu-west-1'],
      [KEY, DATE, 'eu-west-1'],
      [other, DATE, 'eu-west-1'],
      [other, later, 'eu-west-1'],
      [other, later, 'us-east-1'],
      [KEY, DATE, 'eu-west-1'],
    ] as const) {
      use(credentials);
      move(region);
      const { headers } = await own(plain, { signingDate });
      expect(headers).toEqual((await sdk(plain, { signingDate })).headers);
      seen.add(headers.authorization ?? '');
    }
    expect(seen.size).toBe(4);
  });

  it('leaves the request as it was, for the next attempt, and is made for one of the same kind', async () => {
    class Kind {
      readonly method = 'POST';
      readonly path = '/';
      readonly query = {};
      readonly headers = plain.headers;
      readonly body = '{}';
    }
    const request = new Kind();
    const signed = await signers().own(request, { signingDate: DATE });
    expect(signed).toBeInstanceOf(Kind);
    expect(signed).not.toBe(request);
    expect(request.headers).toEqual({
      host: 'sqs.eu-west-1.amazonaws.com',
      'content-type': 'application/x-amz-json-1.0',
    });
    expect(signed.body).toBe('{}');
  });

  it('replaces a session token that is there already', async () => {
    const { own, sdk } = signers({ ...KEY, sessionToken: 'new' });
    const request = { ...plain, headers: { ...plain.headers, 'x-amz-security-token': 'old' } };
    const signed = await own(request, { signingDate: DATE });
    expect(signed.headers['x-amz-security-token']).toBe('new');
    expect(signed.headers).toEqual((await sdk(request, { signingDate: DATE })).headers);
  });

  it.each([undefined, null])('leaves out a header that is %s', async (none) => {
    const { asked, own, sdk } = signers();
    const request = { ...plain, headers: { ...plain.headers, none: none as unknown as string } };
    const signed = await own(request, { signingDate: DATE });
    expect(asked).toEqual([]);
    expect(signed.headers.authorization).toBe(
      (await sdk(request, { signingDate: DATE })).headers.authorization,
    );
  });

  it('has a session token among its headers, also where a header for it is there without a value', async () => {
    const { own, sdk } = signers({ ...KEY, sessionToken: 'token' });
    const headers = { ...plain.headers, 'x-amz-security-token': undefined as unknown as string };
    const signed = await own({ ...plain, headers }, { signingDate: DATE });
    expect(signed.headers).toEqual((await sdk({ ...plain, headers }, { signingDate: DATE })).headers);
  });

  it('names no header that the request has only from its prototype', async () => {
    const headers = Object.assign(Object.create({ inherited: 'x' }), plain.headers);
    const { own, sdk } = signers();
    const signed = await own({ ...plain, headers }, { signingDate: DATE });
    expect(signed.headers).toEqual((await sdk(plain, { signingDate: DATE })).headers);
  });
});

describe('the SDK signs', () => {
  it.each<[string, Partial<Request>]>([
    ['another method', { method: 'GET' }],
    ['another path', { path: '/queue' }],
    ['a query', { query: { a: 'b' } }],
    ['a request without a body', { body: undefined }],
    ['a header in capitals', { headers: { ...plain.headers, Host: 'x' } }],
    ['a request with a date', { headers: { ...plain.headers, date: 'x' } }],
    ['one that was signed before', { headers: { ...plain.headers, authorization: 'x' } }],
    ['one with a signed date', { headers: { ...plain.headers, 'x-amz-date': 'x' } }],
    ['a body whose hash is given', { headers: { ...plain.headers, 'x-amz-content-sha256': 'x' } }],
  ])('%s', async (_, differs) => {
    const { asked, own, sdk } = signers();
    const request = { ...plain, ...differs };
    const signed = await own(request, { signingDate: DATE });
    expect(asked).toEqual([undefined]);
    expect(signed.headers).toEqual((await sdk(request, { signingDate: DATE })).headers);
  });

  it('for an endpoint that says how', async () => {
    const { asked, provider } = signers();
    const scheme = { name: 'sigv4', signingName: 'else', signingRegion: 'us-east-2' };
    const signed = await (await provider(scheme)).sign(plain, { signingDate: DATE });
    expect(asked).toEqual([scheme]);
    expect(signed.headers.authorization).toContain('/20261118/us-east-2/else/');
  });

  it.each([{ signingRegion: 'us-east-1' }, { signingService: 'other' }])(
    'for a region or a service of its own: %j',
    async (scope) => {
      const { asked, own, sdk } = signers();
      const signed = await own(plain, { signingDate: DATE, ...scope });
      expect(asked).toEqual([undefined]);
      expect(signed.headers).toEqual((await sdk(plain, { signingDate: DATE, ...scope })).headers);
    },
  );

  it('a time that is no date', async () => {
    const { asked, own } = signers();
    const { headers } = await own(plain, { signingDate: '2026-11-18T01:02:03Z' });
    expect(asked).toEqual([undefined]);
    expect(headers['x-amz-date']).toBe('20261118T010203Z');
  });

  it.each([{}, { accessKeyId: 'a' }, { secretAccessKey: 'b' }])(
    'and complains of credentials that are none: %j',
    async (credentials) => {
      const { own } = signers(async () => credentials);
      await expect(own(plain, { signingDate: DATE })).rejects.toThrow('credential object is not valid');
    },
  );
});

describe('a client', () => {
  const handled: Request[] = [];
  const config = {
    ...{ region: 'eu-west-1', credentials: KEY },
    requestHandler: {
      handle: async (request: Request) => {
        handled.push(request);
        return { response: { statusCode: 200, headers: {}, body: Buffer.from('{}') } };
      },
    } as never,
  };
  const clock = createHandClock();
  const read = { TableName: 't', Key: { jobId: { S: 'a' } } };
  const sqs = createSqsClient(config);
  const dynamoDb = createDynamoDbClient({ clock, config });

  it.each<[string, () => Promise<unknown>, { readonly config: object }]>([
    ['sqs', () => sqs.send(new ListQueuesCommand({})), sqs],
    ['dynamodb', () => dynamoDb.send(new GetItemCommand(read)), dynamoDb],
    [
      'dynamodb',
      () => documentClientOf(dynamoDb).send(new GetCommand({ ...read, Key: { jobId: 'a' } })),
      dynamoDb,
    ],
  ])(
    'of %s sends what the SDK would have signed in the same way, and does not ask it',
    async (service, send, { config: resolved }) => {
      await send();
      const { headers, ...request } = handled.at(-1) as Request;
      const { authorization, 'x-amz-date': time = '', 'x-amz-content-sha256': _, ...unsigned } = headers;
      expect(authorization).toContain(`/eu-west-1/${service}/aws4_request, `);
      const signingDate = new Date(time.replace(/(....)(..)(..T..)(..)(..Z)/, '$1-$2-$3:$4:$5'));
      const plainly = service === 'sqs' ? new SQSClient(config) : new DynamoDBClient(config);
      const ofSdk = await (plainly.config.signer as unknown as Provider)();
      const again = await ofSdk.sign({ ...request, headers: unsigned }, { signingDate });
      expect(authorization).toBe(again.headers.authorization);
      // The SDK notes the region that it signs for.
      expect(resolved).not.toHaveProperty('signingRegion');
    },
  );

  it.each(['signer', 'signerConstructor', 'signingName', 'signingRegion', 'sha256'])(
    'leaves signing to a %s that was chosen',
    async (choice) => {
      const client = new SQSClient({ region: 'eu-west-1', credentials: KEY });
      const { signer } = client.config;
      expect(signingPlainRequests(client, 'sqs', { [choice]: 'x' })).toBe(client);
      expect(client.config.signer).toBe(signer);
    },
  );

  it('leaves signing to a constructor that the SDK has chosen', () => {
    const client = new SQSClient({ region: 'eu-west-1', credentials: KEY });
    const { signer } = client.config;
    Object.assign(client.config, { signerConstructor: class {} });
    signingPlainRequests(client, 'sqs', {});
    expect(client.config.signer).toBe(signer);
  });

  it('has requests signed by the signer that its user gives it', async () => {
    const signer = { sign: async (request: Request) => ({ ...request, headers: { signed: 'mine' } }) };
    await createSqsClient({ ...config, signer: signer as never }).send(new ListQueuesCommand({}));
    expect(handled.at(-1)?.headers).toEqual({ signed: 'mine' });
  });
});
