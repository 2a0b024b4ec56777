import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a store that can be cut. */
export interface CutOff {
  readonly url: string;
  /** From now on nobody gets through: connections end, and new ones are refused. */
  cut(): void;
  mend(): void;
  stop(): Promise<void>;
}

/** Stands between processes and a store, and passes everything on until it is cut. */
export async function startCutOff(store: string): Promise<CutOff> {
  const { hostname, port } = new URL(store);
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return near.destroy();
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    far.pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const end = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: store.replace(`${hostname}:${port}`, `127.0.0.1:${(server.address() as AddressInfo).port}`),
    cut() {
      isCut = true;
      end();
    },
    mend() {
      isCut = false;
    },
    async stop() {
      end();
      server.close();
      await once(server, 'close');
    },
  };
}
