import { createServer } from 'node:net';

/** Probes all interfaces, because one engine cannot be limited to loopback. */
function probe(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, () => {
      const address = server.address();
      const bound = address !== null && typeof address === 'object' ? address.port : port;
      server.close(() => resolve(bound));
    });
  });
}

/** Another process may take it before the caller binds it. */
export function freePort(): Promise<number> {
  return probe(0);
}

export function isFreePort(port: number): Promise<boolean> {
  return probe(port).then(
    () => true,
    () => false,
  );
}
