import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DelayProxyOrders } from './delay-proxy.ts';
import { spreadOf } from './statistics.ts';

/** A store with a network in front of it. */
export interface DelayedStore {
  readonly url: string;
  stop(): Promise<void>;
}

/** Puts a delay proxy, in a process of its own, in front of the store at a URL. */
export async function delayedStore(url: string, roundTripMs: number): Promise<DelayedStore> {
  const { hostname, port } = new URL(url);
  const orders: DelayProxyOrders = { host: hostname, port: Number(port), roundTripMs };
  const program = new URL('./delay-proxy.ts', import.meta.url).pathname;
  const proxy = spawn(process.execPath, [program, JSON.stringify(orders)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const gone = once(proxy, 'exit');
  const [own] = (await once(createInterface({ input: proxy.stdout }), 'line')) as [string];
  return {
    url: url.replace(`:${port}`, `:${own}`),
    async stop() {
      proxy.stdin.end();
      await gone;
    },
  };
}

/** The shortest question of each protocol. PostgreSQL's asks whether it speaks TLS. */
const QUESTIONS: Readonly<Record<string, Buffer>> = {
  'redis:': Buffer.from('PING\r\n'),
  'postgres:': Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]),
};
const TRIPS = 15;
/** A new connection is not asked before the store has accepted it. */
const ACCEPTED_MS = 20;

/** The median time from a question to its answer, each on a connection of its own. */
export async function roundTripMs(url: string): Promise<number> {
  const { protocol, hostname, port } = new URL(url);
  const question = QUESTIONS[protocol];
  if (question === undefined) throw new Error(`no question is known for ${url}`);
  const trips: number[] = [];
  for (let trip = 0; trip < TRIPS; trip += 1) {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    await sleep(ACCEPTED_MS);
    const from = performance.now();
    socket.write(question);
    await once(socket, 'data');
    trips.push(performance.now() - from);
    socket.destroy();
  }
  return spreadOf(trips)?.median ?? 0;
}
