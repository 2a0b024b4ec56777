import { connect, createServer, type Socket } from 'node:net';

/** What a delay proxy is started with, as JSON. */
export interface DelayProxyOrders {
  readonly host: string;
  readonly port: number;
  /** The round trip that it adds: half in each direction. */
  readonly roundTripMs: number;
}

/**
 * Stands before a store on this machine, and delays what passes as a network does: each piece by the same time, in the order
 * in which it came, without putting two pieces together. Writes its port to stdout and lives as long as its parent keeps the
 * pipe open.
 */
const { host, port, roundTripMs } = JSON.parse(process.argv[2] ?? '{}') as DelayProxyOrders;
const oneWayMs = roundTripMs / 2;

/** So much on its way in one direction of a connection; then its sender has to wait. */
const MAX_UNDER_WAY_BYTES = 4 * 2 ** 20;
/** Timers count whole milliseconds: what is due sooner is waited for in slices, between looks at the sockets. */
const SLICE_MS = 0.1;

interface Piece {
  readonly dueAt: number;
  deliver(): void;
}

/** All pieces take the same time, so whatever came first is due first, on whichever connection. */
const underWay: Piece[] = [];
const bell = new Int32Array(new SharedArrayBuffer(4));
let isTicking = false;

function delay(deliver: () => void): void {
  underWay.push({ dueAt: performance.now() + oneWayMs, deliver });
  if (isTicking) return;
  isTicking = true;
  setImmediate(tick);
}

function tick(): void {
  for (let now = performance.now(); (underWay[0]?.dueAt ?? Number.POSITIVE_INFINITY) <= now; )
    underWay.shift()?.deliver();
  const [next] = underWay;
  isTicking = next !== undefined;
  if (next === undefined) return;
  Atomics.wait(bell, 0, 0, Math.min(SLICE_MS, Math.max(0, next.dueAt - performance.now())));
  setImmediate(tick);
}

function carry(from: Socket, to: Socket): void {
  let bytes = 0;
  const flowAgain = () => {
    if (bytes < MAX_UNDER_WAY_BYTES && !to.writableNeedDrain) from.resume();
  };
  from.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes >= MAX_UNDER_WAY_BYTES) from.pause();
    delay(() => {
      bytes -= piece.length;
      if (to.destroyed) return;
      if (to.write(piece)) flowAgain();
      else from.pause();
    });
  });
  to.on('drain', flowAgain);
  from.on('end', () => delay(() => to.end()));
  from.on('close', () => delay(() => to.destroy()));
  from.on('error', () => {});
}

const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
  const far = connect({ host, port, allowHalfOpen: true, noDelay: true });
  carry(near, far);
  carry(far, near);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' ? address?.port : 0}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();
