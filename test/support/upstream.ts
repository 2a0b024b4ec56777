import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** A whole HTTP reply. */
export type Reply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | number | undefined>>;
  readonly body: Buffer;
};

/** The engine behind a proxy. */
export type Upstream = {
  ask(path: string, headers: IncomingHttpHeaders, body: Buffer): Promise<Reply>;
  close(): void;
};

// Shorter than any engine's own idle limit, so that a request never meets a connection that is just being closed.
const IDLE_CONNECTION_MS = 2_000;

const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding', 'content-length'];

const endToEnd = (headers: IncomingHttpHeaders) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name)));

/** Opens a connection pool to the engine. The client's Host header is kept: SQS makes queue URLs of it. */
export function upstreamOf(target: string): Upstream {
  const { hostname, port } = new URL(target);
  const agent = new Agent({ keepAlive: true, timeout: IDLE_CONNECTION_MS });
  const ask = (path: string, headers: IncomingHttpHeaders, body: Buffer) =>
    new Promise<Reply>((resolve, reject) => {
      const sent = { ...endToEnd(headers), 'content-length': body.length };
      const call = request({ agent, hostname, port, path, method: 'POST', headers: sent }, (reply) => {
        const whole = (bytes: Buffer): Reply => ({
          status: reply.statusCode ?? 502,
          headers: endToEnd(reply.headers),
          body: bytes,
        });
        buffer(reply).then((bytes) => resolve(whole(bytes)), reject);
      });
      call.once('error', reject);
      call.end(body);
    });
  return { ask, close: () => agent.destroy() };
}

const NAMESPACES = { dynamodb: 'com.amazonaws.dynamodb.v20120810', sqs: 'com.amazonaws.sqs' } as const;

/** A reply that the service itself might give without doing anything; without a code it is an empty success. */
export function refusal(
  service: keyof typeof NAMESPACES,
  status: number,
  code?: string,
  message?: string,
): Reply {
  const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': 'fault-proxy' };
  const error = {
    __type: `${NAMESPACES[service]}#${code}`,
    message: message ?? `${code} by the fault proxy`,
  };
  return { status, headers, body: Buffer.from(JSON.stringify(code === undefined ? {} : error)) };
}
