import { createServer } from 'node:net';

/** Binds the port on all interfaces for a moment: an engine that can't be bound to loopback needs every one. */
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

/**
 * A TCP port on which nobody listens at this moment.
 * Another process may take it before the caller binds it, so callers must be ready to ask for a second one.
 */
export function freePort(): Promise<number> {
  return probe(0);
}

/** Whether the port could be bound at this moment. */
export function isFreePort(port: number): Promise<boolean> {
  return probe(port).then(
    () => true,
    () => false,
  );
}
