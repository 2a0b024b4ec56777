import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { openGate } from '../../lib/tools/dev/engines/gate.ts';

const authorization = 'AWS4-HMAC-SHA256 Credential=key/20240101/local/dynamodb/aws4_request';

/** A gate before an engine that answers with this. */
async function gated(answer: Parameters<typeof createServer>[1]) {
  const engine = createServer(answer);
  await new Promise<void>((resolve) => engine.listen(0, '127.0.0.1', resolve));
  const { port } = engine.address() as AddressInfo;
  const gate = await openGate({ accessKeyId: 'key' }, { host: '127.0.0.1', port });
  const send = (headers: Readonly<Record<string, string>> = {}) =>
    request(gate.endpoint, { method: 'POST', headers: { authorization, ...headers } });
  return {
    engine,
    send,
    async stop() {
      engine.closeAllConnections();
      engine.close();
      await gate.stop();
    },
  };
}

it('a gate outlives a client that leaves before its reply', async () => {
  const held: ServerResponse[] = [];
  const { engine, send, stop } = await gated((_, response) => {
    if (held.push(response) > 1) response.end();
  });
  const answered = async () => {
    const sent = send();
    sent.end();
    const [reply] = await once(sent, 'response');
    return reply.statusCode;
  };
  const sent = send();
  sent.on('error', () => {}).end();
  await once(engine, 'request');
  sent.destroy();
  expect(await answered()).toBe(200);
  held[0]?.end('late');
  expect([await answered(), await answered()]).toEqual([200, 200]);
  await stop();
});

it('a gate ends its reply with that of an engine that dies', async () => {
  const { send, stop } = await gated((_, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('half', () => response.destroy());
  });
  const sent = send();
  sent.end();
  const [reply] = await once(sent, 'response');
  const [error] = await once(reply.resume(), 'error');
  expect(error.code).toBe('ECONNRESET');
  await stop();
});
