import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { refusal } from '../engines/gate.ts';
import { listen } from '../engines/listen.ts';

interface Invocation {
  readonly requestId: string;
  readonly event: string;
  readonly deadlineAt: number;
  readonly functionArn: string;
}

export interface RuntimeFailure {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly stackTrace?: readonly string[];
}

export type RuntimeReply =
  | { readonly outcome: 'response'; readonly payload: string }
  | { readonly outcome: 'error'; readonly failure: RuntimeFailure };

/** Each is called at most once per request. */
export interface RuntimeListener {
  ready(): void;
  initFailed(failure: RuntimeFailure): void;
  replied(requestId: string, reply: RuntimeReply): void;
}

const VERSION = '/2018-06-01/runtime';
/** Lambda's limit for events and responses. */
const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;

export async function startRuntimeApi(listener: RuntimeListener) {
  const exchange = new Exchange(listener);
  const server = createServer((request, response) => route(exchange, listener, request, response));
  const { port, stop } = await listen(server);
  return {
    address: `127.0.0.1:${port}`,
    offer: (invocation: Invocation): void => exchange.offer(invocation),
    close: stop,
  };
}

function route(
  exchange: Exchange,
  listener: RuntimeListener,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const refused = refusal(request.headers, request.socket.localPort ?? 0);
  if (refused !== undefined) return void answer(response, 403, 'Forbidden', refused);
  const path = pathOf(request);
  const [, requestId, kind] = /^\/invocation\/([^/]+)\/(response|error)$/.exec(path) ?? [];
  if (request.method === 'GET' && path === '/invocation/next') return void exchange.next(response);
  if (request.method === 'POST' && requestId !== undefined && kind !== undefined)
    return void exchange.reply(request, response, requestId, kind).catch(() => response.destroy());
  if (request.method === 'POST' && path === '/init/error')
    return void readBody(request).then((body) => {
      answer(response, 202);
      listener.initFailed(readFailure(body ?? '', request));
    });
  answer(response, 404, 'NotFound', `${request.method} ${request.url} is not part of the Runtime API`);
}

class Exchange {
  readonly #listener: RuntimeListener;
  #waiting: ServerResponse | undefined;
  #offered: Invocation | undefined;
  #current: string | undefined;
  #isReady = false;

  constructor(listener: RuntimeListener) {
    this.#listener = listener;
  }

  offer(invocation: Invocation): void {
    this.#offered = invocation;
    this.#handOver();
  }

  next(response: ServerResponse): void {
    this.#waiting = response;
    response.once('close', () => {
      if (this.#waiting === response) this.#waiting = undefined;
    });
    if (!this.#isReady) {
      this.#isReady = true;
      this.#listener.ready();
    }
    this.#handOver();
  }

  async reply(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    kind: string,
  ): Promise<void> {
    const body = await readBody(request);
    if (body === undefined)
      return answer(response, 413, 'RequestEntityTooLarge', 'the response exceeds 6 MiB');
    if (requestId !== this.#current)
      return answer(response, 400, 'InvalidRequestID', `no invocation ${requestId} is under way`);
    this.#current = undefined;
    answer(response, 202);
    this.#listener.replied(
      requestId,
      kind === 'response'
        ? { outcome: 'response', payload: body }
        : { outcome: 'error', failure: readFailure(body, request) },
    );
  }

  #handOver(): void {
    const [response, invocation] = [this.#waiting, this.#offered];
    if (response === undefined || invocation === undefined) return;
    this.#waiting = undefined;
    this.#offered = undefined;
    this.#current = invocation.requestId;
    response.writeHead(200, {
      'content-type': 'application/json',
      'lambda-runtime-aws-request-id': invocation.requestId,
      'lambda-runtime-deadline-ms': String(invocation.deadlineAt),
      'lambda-runtime-invoked-function-arn': invocation.functionArn,
      'lambda-runtime-trace-id': `Root=1-00000000-${invocation.requestId.replaceAll('-', '').slice(0, 24)};Sampled=0`,
    });
    response.end(invocation.event);
  }
}

const pathOf = (request: IncomingMessage): string => {
  const path = request.url ?? '';
  return path.startsWith(`${VERSION}/`) ? path.slice(VERSION.length) : '';
};

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_PAYLOAD_BYTES) chunks.push(chunk);
  }
  return bytes > MAX_PAYLOAD_BYTES ? undefined : Buffer.concat(chunks).toString();
}

function readFailure(body: string, request: IncomingMessage): RuntimeFailure {
  const header = request.headers['lambda-runtime-function-error-type'];
  let given: Partial<RuntimeFailure> = {};
  try {
    given = (JSON.parse(body) as Partial<RuntimeFailure> | null) ?? {};
  } catch {
    // A failing runtime may send anything; the header and the text still help.
  }
  return {
    errorType: given.errorType ?? (typeof header === 'string' ? header : 'Runtime.Unknown'),
    errorMessage: given.errorMessage ?? body,
    stackTrace: Array.isArray(given.stackTrace) ? given.stackTrace : undefined,
  };
}

function answer(response: ServerResponse, status: number, errorType?: string, errorMessage?: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(errorType === undefined ? { status: 'OK' } : { errorType, errorMessage }));
}
