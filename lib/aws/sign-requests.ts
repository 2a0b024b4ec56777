import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';

/** A request of the SDK, as far as its signature depends on it. */
interface Signable {
  readonly method: string;
  readonly path: string;
  readonly query?: object;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}
interface SigningOptions {
  readonly signingDate?: unknown;
  readonly signingRegion?: string;
  readonly signingService?: string;
}
interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}
interface Signer {
  sign(request: Signable, options: SigningOptions): Promise<unknown>;
}
interface SigningConfig {
  readonly signerConstructor?: unknown;
  signer(scheme?: unknown): Promise<Signer>;
  credentials(): Promise<Credentials>;
  region(): Promise<string>;
}

/** What a signature of one second is made with. */
interface Scope {
  readonly credentials: Credentials;
  readonly date: Date;
  readonly region: string;
  readonly service: string;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';
const LAST = 'aws4_request';
/** Of a request that has one of these, the SDK knows better what to make. */
const MADE_BY_SIGNING = new Set(['authorization', 'date', 'x-amz-date', 'x-amz-content-sha256']);
/** These may change on their way. */
const UNSIGNED =
  /^(cache-control|connection|expect|from|keep-alive|max-forwards|pragma|referer|te|trailer|transfer-encoding|upgrade|user-agent|x-amzn-trace-id|(proxy|sec)-.*)$/;
/** Line breaks, and spaces that do not count. */
const UNEVEN = /[\r\n\t]| {2}|^ | $/;

/**
 * Lets a client sign its plain requests (a POST of JSON to `/`) with what Node.js has built in, and with a key that is made once a day.
 * The SDK puts its signer together anew for each request and imports two keys, which is an eighth of a short job's processor time. The
 * signature is the same; whatever is no plain request, the SDK signs itself. A signer that the user or the SDK has chosen stays.
 */
export function signingPlainRequests<T extends { readonly config: object }>(
  client: T,
  service: string,
  chosen: object,
): T {
  const config = client.config as SigningConfig;
  if (CHOICES.some((name) => name in chosen) || config.signerConstructor !== undefined) return client;
  const ofSdk = config.signer;
  const keyOf = createKeyOf();
  config.signer = async (scheme) => ({
    async sign(request, options) {
      const { signingDate: date, signingRegion, signingService } = options;
      const names = isPlain(request) ? headersToSign(request) : undefined;
      // An endpoint that wants another kind of signature, or another region's, says so by a scheme or by these.
      const isUsual = (scheme ?? signingRegion ?? signingService) === undefined;
      if (names !== undefined && isUsual && date instanceof Date) {
        const credentials = await config.credentials();
        const scope = { credentials, date, region: await config.region(), service };
        if (isUsable(credentials)) return signed(request, names, scope, keyOf);
      }
      return (await ofSdk(scheme)).sign(request, options);
    },
  });
  return client;
}

/** By these a user can say how requests are signed. */
const CHOICES = ['signer', 'signerConstructor', 'signingName', 'signingRegion', 'sha256'];

const isPlain = ({ method, path, query = {}, body }: Signable): boolean =>
  method === 'POST' &&
  path === '/' &&
  (typeof body === 'string' || body instanceof Uint8Array) &&
  Object.keys(query).length === 0;

/** About others the SDK complains. */
const isUsable = (credentials: Partial<Credentials> | undefined): boolean =>
  typeof credentials?.accessKeyId === 'string' && typeof credentials.secretAccessKey === 'string';

const isThere = (value: unknown): boolean => value !== undefined && value !== null;

/** The names of the headers that are signed; undefined where there is one that the SDK has to deal with. */
function headersToSign({ headers }: Signable): string[] | undefined {
  const names = ['x-amz-content-sha256', 'x-amz-date'];
  for (const name of Object.keys(headers)) {
    if (name !== name.toLowerCase() || MADE_BY_SIGNING.has(name)) return undefined;
    if (!UNSIGNED.test(name) && isThere(headers[name])) names.push(name);
  }
  return names;
}

function signed(
  request: Signable,
  names: string[],
  scope: Scope,
  keyOf: (scope: Scope, day: string) => KeyObject,
): Signable {
  const { accessKeyId, sessionToken } = scope.credentials;
  const time = scope.date.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const bodyHash = hash('sha256', request.body as string | Uint8Array);
  const headers: Record<string, string> = {
    ...request.headers,
    'x-amz-date': time,
    'x-amz-content-sha256': bodyHash,
  };
  if (sessionToken) {
    if (!names.includes('x-amz-security-token')) names.push('x-amz-security-token');
    headers['x-amz-security-token'] = sessionToken;
  }
  names.sort();
  const list = names.join(';');
  let lines = '';
  for (const name of names) lines += `${name}:${even(headers[name] as string)}\n`;
  const place = `${day}/${scope.region}/${scope.service}/${LAST}`;
  const requestHash = hash('sha256', `POST\n/\n\n${lines}\n${list}\n${bodyHash}`);
  const signature = createHmac('sha256', keyOf(scope, day))
    .update(`${ALGORITHM}\n${time}\n${place}\n${requestHash}`)
    .digest('hex');
  headers.authorization = `${ALGORITHM} Credential=${accessKeyId}/${place}, SignedHeaders=${list}, Signature=${signature}`;
  // Of the request's own kind, and not itself: an attempt that fails is signed again.
  return Object.assign(Object.create(Object.getPrototypeOf(request)), request, { headers });
}

const even = (value: string): string =>
  UNEVEN.test(value) ? value.replace(/[\r\n\t ]+/g, ' ').replace(/^ | $/g, '') : value;

/** Keeps the key of the day, and what it was made from: the secret, which is used for nothing else. */
function createKeyOf(): (scope: Scope, day: string) => KeyObject {
  let kept: { readonly from: string; readonly key: KeyObject } | undefined;
  return ({ credentials, region, service }, day) => {
    const from = `${credentials.secretAccessKey}/${day}/${region}/${service}`;
    if (kept?.from === from) return kept.key;
    let key: string | Buffer = `AWS4${credentials.secretAccessKey}`;
    for (const part of [day, region, service, LAST]) key = createHmac('sha256', key).update(part).digest();
    kept = { from, key: createSecretKey(key as Buffer) };
    return kept.key;
  };
}
