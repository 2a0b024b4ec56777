import type { Readable } from 'node:stream';

/** What the SDK hands from one step of a request to the next, as far as it is needed here. */
interface Step {
  readonly input: object;
  readonly request?: unknown;
}
interface Reply {
  readonly response: {
    readonly statusCode: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: Readable | Uint8Array;
  };
  readonly output?: unknown;
}
type Next = (step: Step) => Promise<Reply>;
interface Context {
  readonly endpointV2?: { readonly url: URL; readonly headers?: Readonly<Record<string, readonly string[]>> };
}

/** As much of a command's stack as is needed here: each command of the SDK has a type of its own for it. */
interface Stack {
  add(
    middleware: unknown,
    options: { readonly name: string; readonly step: 'serialize' | 'deserialize'; readonly override: true },
  ): void;
}

/**
 * Sends a command's input as the JSON that it is, and takes the reply as it comes. The SDK walks through every value of both by its
 * schema, which is what a batch of claims costs most of its time for; here all values are texts, whole numbers and yes or no, which need
 * no translation. Only the two steps that translate are replaced: endpoint, credentials and retries are the SDK's.
 */
export function asPlainJson<T extends { readonly middlewareStack: object }>(command: T, target: string): T {
  const serialize =
    (next: Next, context: Context): Next =>
    (step) => {
      const { url, headers } = context.endpointV2 ?? noEndpoint(target);
      const request = {
        method: 'POST',
        protocol: url.protocol,
        hostname: url.hostname,
        port: url.port === '' ? undefined : Number(url.port),
        path: url.pathname,
        query: {},
        headers: { ...joined(headers), ...JSON_HEADERS, 'x-amz-target': target },
        body: JSON.stringify(step.input),
      };
      return next({ ...step, request });
    };
  const stack = command.middlewareStack as Stack;
  stack.add(serialize, SERIALIZER);
  stack.add(deserialize, DESERIALIZER);
  return command;
}

/** The names that the SDK gives to its own. */
const SERIALIZER = { name: 'serializerMiddleware', step: 'serialize', override: true } as const;
const DESERIALIZER = { name: 'deserializerMiddleware', step: 'deserialize', override: true } as const;

const JSON_HEADERS = { 'content-type': 'application/x-amz-json-1.0' };

function noEndpoint(target: string): never {
  throw new Error(`the SDK found no endpoint for ${target}`);
}

const joined = (headers: NonNullable<Context['endpointV2']>['headers'] = {}) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, values]) => [name.toLowerCase(), values.join(', ')]),
  );

const deserialize =
  (next: Next): Next =>
  async (step) => {
    const { response } = await next(step);
    const { statusCode, headers } = response;
    const $metadata = { httpStatusCode: statusCode, requestId: headers['x-amzn-requestid'] };
    const text = await textOf(response.body);
    if (statusCode >= 300) throw serviceError(text, response, $metadata);
    const output = { ...(text === '' ? undefined : (JSON.parse(text) as object)), $metadata };
    return { response, output };
  };

async function textOf(body: Reply['response']['body']): Promise<string> {
  if (body === undefined) return '';
  return Buffer.from(body instanceof Uint8Array ? body : await allOf(body)).toString();
}

/** By its events: for a reply of one part, walking through the stream takes several times as long. */
const allOf = (body: Readable): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    body.on('data', (part: Uint8Array) => parts.push(part));
    let isWhole = false;
    body.on('end', () => {
      isWhole = true;
      resolve(Buffer.concat(parts));
    });
    body.on('error', reject);
    // Nothing more comes, and the end was not heard: a reply that was cut off. An error made for each reply would cost 3 % of a job.
    body.on('close', () => isWhole || reject(cutOff()));
  });

/** With the code that makes the SDK ask again. */
const cutOff = () =>
  Object.assign(new Error('the connection was closed within a reply'), { code: 'ECONNRESET' });

/** An error as the SDK's own retries and our adapters read it: by its name, its status, and the time in its reply. */
function serviceError(text: string, response: Reply['response'], $metadata: object): Error {
  const { __type, message, Message } = parsed(text);
  const error = new Error(String(message ?? Message ?? text.slice(0, 500)));
  error.name = /([^#:]+)(:.*)?$/.exec(String(__type ?? ''))?.[1] ?? 'UnknownError';
  // Hidden, as the SDK does it: an error that is logged brings no connection along.
  Object.defineProperty(error, '$response', { value: response, configurable: true, writable: true });
  return Object.assign(error, { $metadata, $fault: response.statusCode >= 500 ? 'server' : 'client' });
}

/** What stands between us and AWS may answer with something else than JSON. */
function parsed(text: string): {
  readonly __type?: unknown;
  readonly message?: unknown;
  readonly Message?: unknown;
} {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
