import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Rejects each request of `call-service` the first time. */
export async function startFlakyService(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const known = new Set<string>();
  const server = createServer((request, response) => {
    const key = String(request.headers['idempotency-key']);
    const isNew = !known.has(key);
    known.add(key);
    request.resume().on('end', () => {
      response.writeHead(isNew ? 503 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ accepted: !isNew }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
