import { once, setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  carryOut,
  isTiming,
  type ProxiedEngine,
  type ReplyFault,
  type Result,
  type Timing,
} from './fault-outcomes.ts';
import { type Fault, type FaultRule, readsIndex, type SeenRequest } from './faults.ts';
import { type PastReplies, pastReplies } from './past-replies.ts';
import { derivedSeed, seededRandom } from './random.ts';
import { refusal, type Upstream, upstreamOf } from './upstream.ts';
import { capacityUnitsIn, type WireTally, wireTally } from './wire-tally.ts';

/** A real HTTP server in front of an engine that makes chosen requests go wrong, and counts them all. */
export type FaultProxy = {
  readonly endpoint: string;
  readonly seed: number;
  /** Requests by operation, SDK retries included. */
  readonly counts: Readonly<Record<string, number>>;
  /** Requests, bytes and consumed capacity by operation. */
  readonly tally: WireTally;
  /** How often each kind of fault has happened. */
  readonly injected: Readonly<Partial<Record<Fault['kind'], number>>>;
  /** Replaces the rules from the next request on. */
  use(...rules: readonly FaultRule[]): void;
  /** Cuts every connection and resolves when none is left. */
  stop(): Promise<void>;
};

/** The engine behind the proxy, the rules to begin with, and the seed of every random choice. */
export type FaultProxyOptions = {
  readonly target: string;
  readonly rules?: readonly FaultRule[];
  readonly seed?: number;
};

type Json = Readonly<Record<string, unknown>>;

const parsed = (bytes: Buffer): Json => (bytes.length === 0 ? {} : JSON.parse(bytes.toString()));

const sum = (amounts: readonly (number | undefined)[]) =>
  amounts.reduce<number>((total, amount) => total + (amount ?? 0), 0);

function see(message: IncomingMessage, bytes: Buffer, tally: WireTally, seed: number): SeenRequest {
  const [api = '', operation = 'unknown'] = String(message.headers['x-amz-target'] ?? '').split('.');
  tally.add(operation, { requests: 1, requestBytes: bytes.length });
  const nth = tally.of(operation).requests;
  const random = seededRandom(derivedSeed(seed, `${operation} ${nth}`));
  return { service: api === 'AmazonSQS' ? 'sqs' : 'dynamodb', operation, body: parsed(bytes), nth, random };
}

/** Waits as the faults of time demand on one side of the engine's work, but never longer than the proxy lives. */
async function pause(
  timings: readonly Timing[],
  side: 'before' | 'after',
  stopped: AbortSignal,
): Promise<void> {
  if (timings.length === 0 || stopped.aborted) return;
  const ms = sum(timings.map((fault) => (fault.kind === 'delay' ? fault[`${side}Ms`] : 0)));
  const holds = timings.map((fault) => (fault.kind === 'hold' ? fault[side] : undefined));
  const over = new AbortController();
  const signal = AbortSignal.any([stopped, over.signal]);
  const released = Promise.all([...holds, sleep(ms, undefined, { signal })]);
  const cutShort = once(stopped, 'abort', { signal: over.signal });
  await Promise.race([released, cutShort].map((wait) => wait.catch(() => {})));
  over.abort();
}

function send(result: Result, response: ServerResponse, timings: readonly Timing[]): void {
  const { socket } = response;
  if (result === 'silent' || socket === null || socket.destroyed) return;
  if (result === 'cut') {
    socket.resetAndDestroy();
    return;
  }
  const shiftMs = sum(timings.map((fault) => (fault.kind === 'shiftDate' ? fault.byMs : 0)));
  const date = shiftMs === 0 ? {} : { date: new Date(Date.now() + shiftMs).toUTCString() };
  response.writeHead(result.status, { ...result.headers, ...date, 'content-length': result.body.length });
  response.end(result.body);
}

/** A broken connection to the engine breaks the client's; anything else is a mistake in a rule, and told. */
function resultOf(error: unknown): Result {
  if (error instanceof Error && 'code' in error) return 'cut';
  return refusal('dynamodb', 400, 'ValidationException', `Fault proxy: ${error}`);
}

/** What a proxy remembers: shared by all of its requests. */
type ProxyState = {
  readonly seed: number;
  readonly upstream: Upstream;
  readonly tally: WireTally;
  readonly past: PastReplies;
  readonly injected: Partial<Record<Fault['kind'], number>>;
  readonly stopped: AbortSignal;
  rules: readonly FaultRule[];
};

function chooseFaults(request: SeenRequest, { rules, injected }: ProxyState) {
  const faults = rules.flatMap((rule) => rule(request) ?? []);
  const outcome = faults.find((fault): fault is ReplyFault => !isTiming(fault));
  const timings = faults.filter(isTiming);
  for (const { kind } of [...timings, ...(outcome === undefined ? [] : [outcome])]) {
    injected[kind] = (injected[kind] ?? 0) + 1;
  }
  return { outcome, timings };
}

function engineFor(
  request: SeenRequest,
  message: IncomingMessage,
  bytes: Buffer,
  state: ProxyState,
): ProxiedEngine {
  const { operation, body } = request;
  const ask = async (asked: Json) => {
    const sent = asked === body ? bytes : Buffer.from(JSON.stringify(asked));
    const reply = await state.upstream.ask(message.url ?? '/', message.headers, sent);
    const json = parsed(reply.body);
    const capacityUnits = capacityUnitsIn(json);
    state.tally.add(operation, { forwarded: 1, replyBytes: reply.body.length, capacityUnits });
    if (reply.status === 200 && readsIndex(request)) state.past.add(operation, body, json);
    return reply;
  };
  return { ask, pastReply: (age) => state.past.find(operation, body, age) };
}

async function handle(message: IncomingMessage, response: ServerResponse, state: ProxyState): Promise<void> {
  let timings: readonly Timing[] = [];
  let result: Result;
  try {
    const bytes = await buffer(message);
    const request = see(message, bytes, state.tally, state.seed);
    const faults = chooseFaults(request, state);
    timings = faults.timings;
    await pause(timings, 'before', state.stopped);
    if (state.stopped.aborted) return;
    result = await carryOut(request, faults.outcome, engineFor(request, message, bytes, state));
    await pause(timings, 'after', state.stopped);
  } catch (error) {
    result = resultOf(error);
  }
  send(result, response, timings);
}

/** Starts a proxy in front of a DynamoDB or SQS engine; clients use its endpoint in the engine's place. */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const state: ProxyState = {
    seed: options.seed ?? 1,
    upstream: upstreamOf(options.target),
    tally: wireTally(),
    past: pastReplies(),
    injected: {},
    stopped: stopping.signal,
    rules: options.rules ?? [],
  };
  const inFlight = new Set<Promise<void>>();
  const server = createServer((message, response) => {
    const handled = handle(message, response, state).finally(() => inFlight.delete(handled));
    inFlight.add(handled);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;

  const stop = async () => {
    if (stopping.signal.aborted) return;
    const closed = once(server, 'close');
    stopping.abort();
    server.close();
    server.closeAllConnections();
    state.upstream.close();
    await Promise.all([closed, ...inFlight]);
  };
  return {
    endpoint: `http://127.0.0.1:${port}`,
    seed: state.seed,
    tally: state.tally,
    injected: state.injected,
    get counts() {
      return state.tally.counts();
    },
    use: (...rules) => {
      state.rules = rules;
    },
    stop,
  };
}
