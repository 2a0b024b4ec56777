import { createServer } from 'node:net';

/** Probes all interfaces, because one engine cannot be limited to loopback. */
function probe(port: number, host?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, host, () => {
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

/** With port 0: whether anything can listen at this address. */
export function isFreePort(port: number, host?: string): Promise<boolean> {
  return probe(port, host).then(
    () => true,
    () => false,
  );
}
