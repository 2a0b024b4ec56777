import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type DelayedStore, delayedStore, roundTripMs } from '../../bench/support/delayed-store.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

/** A store that answers with what it is sent, in upper case, and notes the pieces in which it came. */
async function shoutingStore() {
  const pieces: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', (piece) => {
      pieces.push(piece.toString());
      socket.write(piece.toString().toUpperCase());
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  open.push({
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return { url: `redis://127.0.0.1:${port}`, pieces };
}

async function through(url: string, ms: number): Promise<DelayedStore> {
  const store = await delayedStore(url, ms);
  open.push({ close: store.stop });
  return store;
}

async function connected(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  open.push({ close: () => socket.destroy() });
  return socket;
}

describe('the network that the bench puts before a store', () => {
  it.each([1, 20])('takes %d ms for a round trip, or longer', async (ms) => {
    const store = await shoutingStore();
    expect(await roundTripMs((await through(store.url, ms)).url)).toBeGreaterThanOrEqual(ms);
  });

  it('keeps the order, and does not wait for an answer before it carries the next question', async () => {
    const store = await shoutingStore();
    const socket = await connected((await through(store.url, 100)).url);
    const sent = Array.from({ length: 500 }, (_, i) => `question ${i};`).join('');
    let answered = '';
    socket.on('data', (piece) => {
      answered += piece;
    });
    for (let at = 0; at < sent.length; at += 100) socket.write(sent.slice(at, at + 100));
    await expect.poll(() => answered).toBe(sent.toUpperCase());
    expect(store.pieces.join('')).toBe(sent);
  });

  it('carries more than it holds at a time', async () => {
    const store = await shoutingStore();
    const socket = await connected((await through(store.url, 1)).url);
    const megabytes = 12;
    let received = 0;
    socket.on('data', (piece) => {
      received += piece.length;
    });
    socket.write('a'.repeat(megabytes * 2 ** 20));
    await expect.poll(() => received).toBe(megabytes * 2 ** 20);
  });

  it('ends a connection when the other side ends it', async () => {
    const store = await shoutingStore();
    const socket = await connected((await through(store.url, 1)).url);
    socket.end('bye');
    const closed = once(socket, 'close');
    socket.resume();
    await closed;
    expect(store.pieces).toEqual(['bye']);
  });
});
