import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { signingPlainRequests } from '../../../lib/aws/sign-requests.ts';
import { createSqsClient } from '../../../lib/aws/sqs/client.ts';

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
function signers(credentials: object | (() => Promise<object>) = KEY) {
  const client = new SQSClient({ region: 'eu-west-1', credentials: credentials as typeof KEY });
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
  it('is the SDK’s, whatever the headers, the text, the time, the region and the credentials', async () => {
    let credentials: object = KEY;
    const { asked, own, sdk } = signers(async () => credentials);
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(name, value, { noNullPrototype: true }),
        fc.oneof(fc.string({ unit: 'binary' }), fc.uint8Array()),
        fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }),
        fc.record(
          { signingRegion: fc.constantFrom('us-east-1', 'eu-west-1'), signingService: fc.constant('other') },
          { requiredKeys: [] },
        ),
        fc.record(
          { accessKeyId: fc.string(), secretAccessKey: fc.string(), sessionToken: fc.string() },
          { requiredKeys: ['accessKeyId', 'secretAccessKey'] },
        ),
        async (more, body, signingDate, scope, chosen) => {
          for (const made of ['authorization', 'date', 'x-amz-date', 'x-amz-content-sha256'])
            delete more[made];
          credentials = chosen;
          const request = { ...plain, body, headers: { ...plain.headers, ...UNSIGNED, ...more } };
          const signed = await own(request, { signingDate, ...scope });
          expect(asked).toEqual([]);
          expect(signed.headers).toEqual((await sdk(request, { signingDate, ...scope })).headers);
        },
      ),
      { numRuns: 200 },
    );
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

  it('leaves out a header without a value', async () => {
    const { asked, own, sdk } = signers();
    const request = { ...plain, headers: { ...plain.headers, empty: undefined as unknown as string } };
    const signed = await own(request, { signingDate: DATE });
    expect(asked).toEqual([]);
    expect(signed.headers.authorization).toBe(
      (await sdk(request, { signingDate: DATE })).headers.authorization,
    );
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

  it('sends what the SDK would have signed in the same way', async () => {
    await createSqsClient(config).send(new ListQueuesCommand({}));
    const { headers, ...request } = handled.at(-1) as Request;
    const { authorization, 'x-amz-date': time = '', 'x-amz-content-sha256': _, ...unsigned } = headers;
    const signingDate = new Date(time.replace(/(....)(..)(..T..)(..)(..Z)/, '$1-$2-$3:$4:$5'));
    const again = await signers().sdk({ ...request, headers: unsigned }, { signingDate });
    expect(authorization).toBe(again.headers.authorization);
  });

  it.each(['signer', 'signerConstructor', 'signingName', 'signingRegion', 'sha256'])(
    'leaves signing to a %s that was chosen',
    async (choice) => {
      const client = new SQSClient({ region: 'eu-west-1', credentials: KEY });
      const { signer } = client.config;
      expect(signingPlainRequests(client, 'sqs', { [choice]: 'x' })).toBe(client);
      expect(client.config.signer).toBe(signer);
    },
  );

  it('has requests signed by the signer that its user gives it', async () => {
    const signer = { sign: async (request: Request) => ({ ...request, headers: { signed: 'mine' } }) };
    await createSqsClient({ ...config, signer: signer as never }).send(new ListQueuesCommand({}));
    expect(handled.at(-1)?.headers).toEqual({ signed: 'mine' });
  });
});
