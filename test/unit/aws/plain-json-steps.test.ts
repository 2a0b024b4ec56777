import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { asPlainJson } from '../../../lib/aws/plain-json.ts';

interface Response {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}
type Step = (next: unknown, context?: object) => (step: object) => Promise<{ readonly output: object }>;

/** The two steps that take the place of the SDK's, by themselves: for replies that no service gives. */
function steps() {
  const added = new Map<string, Step>();
  const middlewareStack = {
    add: (step: Step, { name }: { readonly name: string }) => void added.set(name, step),
  };
  asPlainJson({ middlewareStack }, 'x.y');
  const step = (name: string) => added.get(name) as Step;
  return { serialize: step('serializerMiddleware'), deserialize: step('deserializerMiddleware') };
}

const answered = (response: Partial<Response>) =>
  steps()
    .deserialize(async () => ({ response: { statusCode: 200, headers: {}, ...response } }))({})
    .then(({ output }) => output);
const failure = (statusCode: number, body: string) =>
  answered({ statusCode, body: Buffer.from(body) }).then(
    () => undefined,
    (error: Error & { readonly $fault?: string }) => error,
  );

describe('a request', () => {
  const sentTo = (endpointV2: object) => {
    const sent: { readonly request: object }[] = [];
    const next = (step: { readonly request: object }) => void sent.push(step);
    steps().serialize(next, { endpointV2 })({ input: { a: 1 } });
    return sent[0]?.request;
  };

  it('goes to the endpoint’s host and port, with the headers that the endpoint asks for', () => {
    const headers = { 'X-Extra': ['a', 'b'] };
    expect(sentTo({ url: new URL('http://localhost:8000/path'), headers })).toEqual({
      ...{ method: 'POST', protocol: 'http:', hostname: 'localhost', port: 8000, path: '/path', query: {} },
      headers: {
        'x-extra': 'a, b',
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': 'x.y',
      },
      body: '{"a":1}',
    });
    expect(sentTo({ url: new URL('https://localhost/') })).toMatchObject({ port: undefined });
  });

  it('without an endpoint says so, and for which request', () => {
    expect(() => steps().serialize(() => {}, {})({ input: {} })).toThrow('no endpoint for x.y');
  });
});

describe('a reply', () => {
  it('may say nothing, with an empty body or with none', async () => {
    const $metadata = { httpStatusCode: 200, requestId: undefined };
    expect(await answered({ body: Buffer.from('') })).toEqual({ $metadata });
    expect(await answered({ body: undefined })).toEqual({ $metadata });
  });

  it('is a failure from 300 on, the client’s up to 499 and the service’s from 500 on', async () => {
    expect(await failure(299, '{}')).toBeUndefined();
    expect(await failure(300, '{}')).toMatchObject({ $fault: 'client', $metadata: { httpStatusCode: 300 } });
    expect(await failure(499, '{}')).toMatchObject({ $fault: 'client' });
    expect(await failure(500, '{}')).toMatchObject({ $fault: 'server' });
  });

  it('names a failure as the service does, with or without what stands around the name', async () => {
    const named = async (__type: unknown) => (await failure(400, JSON.stringify({ __type })))?.name;
    expect(await named('ThrottlingException')).toBe('ThrottlingException');
    expect(await named('a.b#ThrottlingException')).toBe('ThrottlingException');
    expect(await named('ThrottlingException:http://internal.amazon.com/')).toBe('ThrottlingException');
    expect(await named('a.b#ThrottlingException:http://internal/')).toBe('ThrottlingException');
    for (const unnamed of [undefined, null, '', '#']) expect(await named(unnamed)).toBe('UnknownError');
  });

  it('tells at most 500 characters of what is no message', async () => {
    expect((await failure(502, 'x'.repeat(501)))?.message).toBe('x'.repeat(500));
    expect((await failure(400, '{"Message":"no"}'))?.message).toBe('no');
    expect((await failure(400, 'null'))?.message).toBe('null');
  });

  it('that is cut off without a word is a broken connection, which the SDK tries again', async () => {
    const body = new PassThrough();
    const reading = answered({ body });
    body.write('{"a":');
    body.destroy();
    await expect(reading).rejects.toMatchObject({
      ...{ code: 'ECONNRESET', message: 'the connection was closed within a reply' },
    });
  });

  it('that breaks says why', async () => {
    const body = new PassThrough();
    const reading = answered({ body });
    body.destroy(new Error('reset by peer'));
    await expect(reading).rejects.toThrow('reset by peer');
  });

  it('that comes in parts is read whole', async () => {
    const body = new PassThrough();
    const reading = answered({ body });
    for (const part of ['{"a"', ':1}']) body.write(part);
    body.end();
    expect(await reading).toMatchObject({ a: 1 });
  });
});
