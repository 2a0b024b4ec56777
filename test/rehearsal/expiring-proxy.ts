import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface ExpiringProxy {
  readonly endpoint: string;
  /** From now on every request is refused as AWS refuses expired credentials. */
  expire(): void;
  /** From now on requests get no reply. */
  hold(): void;
  renew(): void;
  stop(): void;
}

const MESSAGE = 'The security token included in the request is expired';

/** Between the rehearsal and the emulator, which knows no expiry. Functions reach the emulator directly, like roles of their own. */
export async function startExpiringProxy(
  target: string,
  { certificate, key }: { readonly certificate: string; readonly key: string },
): Promise<ExpiringProxy> {
  const cert = readFileSync(certificate);
  const agent = new Agent({ ca: cert, keepAlive: true });
  let state: 'passing' | 'expired' | 'holding' = 'passing';
  const server = createServer({ cert, key: readFileSync(key) }, (incoming, outgoing) => {
    if (state === 'expired') return refuse(incoming, outgoing);
    if (state === 'holding') return;
    const url = new URL(incoming.url ?? '/', target);
    const passed = request(
      url,
      { method: incoming.method ?? 'GET', headers: incoming.headers, agent },
      (reply) => {
        outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
        reply.pipe(outgoing);
      },
    );
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    expire() {
      state = 'expired';
    },
    hold() {
      state = 'holding';
    },
    renew() {
      state = 'passing';
    },
    stop() {
      server.close();
      server.closeAllConnections();
      agent.destroy();
    },
  };
}

/** In the protocol of the request: JSON where it names a target, XML for the query protocol and S3. */
function refuse(incoming: IncomingMessage, outgoing: ServerResponse): void {
  incoming.resume();
  const isJson = /json/.test(incoming.headers['content-type'] ?? '');
  const isS3 = incoming.headers['x-amz-content-sha256'] !== undefined;
  const xml = `<Error><Type>Sender</Type><Code>ExpiredToken</Code><Message>${MESSAGE}</Message></Error>`;
  if (isJson) {
    outgoing.writeHead(400, {
      'content-type': 'application/x-amz-json-1.0',
      'x-amzn-errortype': 'ExpiredTokenException',
    });
    outgoing.end(
      JSON.stringify({ __type: 'com.amazon.coral.service#ExpiredTokenException', message: MESSAGE }),
    );
  } else {
    outgoing.writeHead(403, { 'content-type': 'text/xml' });
    outgoing.end(isS3 ? xml : `<ErrorResponse>${xml}</ErrorResponse>`);
  }
}
