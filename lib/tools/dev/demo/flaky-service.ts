import { createServer } from 'node:http';
import { listen } from '../engines/listen.ts';

export function startFlakyService() {
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
  return listen(server);
}
