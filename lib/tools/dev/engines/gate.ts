import { Agent, createServer, type IncomingHttpHeaders, request as send } from 'node:http';
import { pipeline } from 'node:stream';
import { listen } from './listen.ts';

/** Only clients that sign with this access key may use the engine, and no web page. */
export interface Gate {
  readonly accessKeyId: string;
}

/** Undefined if allowed. Host reveals a rebound name, Origin another site's script, and no page knows the key. */
export function refusal(headers: IncomingHttpHeaders, port: number, gate?: Gate): string | undefined {
  const { host = '', origin, authorization = '' } = headers;
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`)
    return `Host is '${host}'; use 127.0.0.1:${port}`;
  if (origin !== undefined || headers['sec-fetch-site'] !== undefined) return 'Web pages are refused here';
  if (gate !== undefined && !authorization.includes(`Credential=${gate.accessKeyId}/`))
    return "This local engine takes only the access key that 'leasehold dev --env' prints";
  return undefined;
}

export const refusalReply = (message: string) => ({
  status: 403,
  body: { __type: 'com.amazonaws#UnrecognizedClientException', message },
});

export async function openGate(
  gate: Gate,
  engine: { readonly host: string; readonly port: number },
  port = 0,
) {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((request, response) => {
    const refused = refusal(request.headers, request.socket.localPort ?? 0, gate);
    if (refused !== undefined) {
      const { status, body } = refusalReply(refused);
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' });
      return void response.end(JSON.stringify(body));
    }
    const { method, url: path, headers } = request;
    const forwarded = send({ ...engine, agent, method, path, headers }, (reply) => {
      // The client may have left.
      if (response.destroyed) return void reply.destroy();
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      pipeline(reply, response, () => {});
    });
    forwarded.on('error', () => response.destroy());
    pipeline(request, forwarded, () => {});
  });
  const listening = await listen(server, port);
  return {
    ...listening,
    async stop() {
      await listening.stop();
      agent.destroy();
    },
  };
}
