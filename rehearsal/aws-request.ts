import { createHash, createHmac } from 'node:crypto';
import { defined } from '../lib/wire/defined.ts';

/** Requests to services whose SDK client would be a dependency of every user of the package. */
export interface AwsRequests {
  readonly region: string;
  send(request: AwsRequest): Promise<AwsReply>;
}

interface AwsRequest {
  readonly service: 'cloudformation' | 'lambda' | 'ssm' | 'sts';
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface AwsReply {
  readonly text: string;
  readonly at: number;
}

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration?: Date;
}

export type ResolveCredentials = () => Promise<Credentials>;

export class AwsError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(`${code}: ${message}`);
    this.name = 'AwsError';
    this.code = code;
  }
}

const REPLY_WITHIN_MS = 20_000;

export function createAwsRequests(
  region: string,
  credentials: ResolveCredentials,
  endpointUrl = process.env.AWS_ENDPOINT_URL,
): AwsRequests {
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  return {
    region,
    async send({ service, method = 'POST', path = '/', headers = {}, body = '' }) {
      const url = new URL(path, endpointUrl ?? `https://${service}.${region}.${suffix}`);
      const signed = sign(
        { method, url, headers, body },
        { service, region, ...(await credentials()) },
        new Date(),
      );
      const reply = await fetch(url, {
        method,
        headers: signed,
        body: method === 'GET' ? undefined : body,
        signal: AbortSignal.timeout(REPLY_WITHIN_MS),
      });
      const text = await reply.text();
      if (!reply.ok) throw errorIn(text, reply);
      return { text, at: Date.parse(reply.headers.get('date') ?? '') };
    },
  };
}

export const queryRequest = (
  service: AwsRequest['service'],
  parameters: Readonly<Record<'Action' | 'Version', string> & Record<string, string>>,
): AwsRequest => ({
  service,
  headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
  body: String(new URLSearchParams(parameters)),
});

export const textIn = (xml: string, tag: string): string | undefined =>
  new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml)?.[1];

function errorIn(text: string, { status, headers }: Response): AwsError {
  if (text.trimStart().startsWith('<'))
    return new AwsError(textIn(text, 'Code') ?? `HTTP ${status}`, textIn(text, 'Message') ?? text);
  const json = parsed(text);
  const type = headers.get('x-amzn-errortype') ?? String(json.__type ?? json.code ?? `HTTP ${status}`);
  return new AwsError(
    type.split(':')[0]?.split('#').at(-1) ?? type,
    String(json.message ?? json.Message ?? text),
  );
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** Signature version 4, see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html @internal */
export function sign(
  request: {
    readonly method: string;
    readonly url: URL;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  },
  scope: Credentials & { readonly service: string; readonly region: string },
  now: Date,
): Record<string, string> {
  const time = now.toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.url.host,
    'x-amz-date': time,
    ...defined({ 'x-amz-security-token': scope.sessionToken }),
  };
  const names = Object.keys(headers).sort();
  const canonical = [
    request.method,
    request.url.pathname,
    request.url.searchParams.toString(),
    ...names.map((name) => `${name}:${headers[name]}`),
    '',
    names.join(';'),
    sha256(request.body),
  ].join('\n');
  const place = `${day}/${scope.region}/${scope.service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, place, sha256(canonical)].join('\n');
  const key = [day, scope.region, scope.service, 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${scope.secretAccessKey}`,
  );
  const signature = hmac(key, toSign).toString('hex');
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${scope.accessKeyId}/${place}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
