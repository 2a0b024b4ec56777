import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One event for the runtime, with the moment at which its time is up. */
interface Invocation {
  readonly requestId: string;
  /** The event as JSON text. */
  readonly event: string;
  readonly deadlineAt: number;
  readonly functionArn: string;
}

/** An error as a runtime reports it. */
export interface RuntimeFailure {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly stackTrace?: readonly string[];
}

export type RuntimeReply =
  | { readonly outcome: 'response'; readonly payload: string }
  | { readonly outcome: 'error'; readonly failure: RuntimeFailure };

/** What a runtime may tell its host; each is called at most once per request. */
export interface RuntimeListener {
  /** The runtime asked for its first event: it is initialised. */
  ready(): void;
  initFailed(failure: RuntimeFailure): void;
  replied(requestId: string, reply: RuntimeReply): void;
}

/** The Lambda Runtime API for one sandbox, on a loopback port of its own. */
export interface RuntimeApi {
  /** Goes into `AWS_LAMBDA_RUNTIME_API`. */
  readonly address: string;
  /** Hands the event to the runtime as soon as it asks for one. */
  offer(invocation: Invocation): void;
  close(): Promise<void>;
}

const VERSION = '/2018-06-01/runtime';
/** What Lambda accepts as an event or a response. */
const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;

/** Serves the Runtime API, so that our runtime, or AWS's own interface client in its place, can run a bundle. */
export async function startRuntimeApi(listener: RuntimeListener): Promise<RuntimeApi> {
  let waiting: ServerResponse | undefined;
  let offered: Invocation | undefined;
  let current: string | undefined;
  let isReady = false;

  const handOver = () => {
    if (waiting === undefined || offered === undefined) return;
    const [response, invocation] = [waiting, offered];
    waiting = undefined;
    offered = undefined;
    current = invocation.requestId;
    response.writeHead(200, {
      'content-type': 'application/json',
      'lambda-runtime-aws-request-id': invocation.requestId,
      'lambda-runtime-deadline-ms': String(invocation.deadlineAt),
      'lambda-runtime-invoked-function-arn': invocation.functionArn,
      'lambda-runtime-trace-id': `Root=1-00000000-${invocation.requestId.replaceAll('-', '').slice(0, 24)};Sampled=0`,
    });
    response.end(invocation.event);
  };

  const next = (response: ServerResponse) => {
    waiting = response;
    response.once('close', () => {
      if (waiting === response) waiting = undefined;
    });
    if (!isReady) {
      isReady = true;
      listener.ready();
    }
    handOver();
  };

  const reply = async (
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    kind: string,
  ) => {
    const body = await readBody(request);
    if (body === undefined)
      return answer(response, 413, 'RequestEntityTooLarge', 'the response exceeds 6 MiB');
    if (requestId !== current)
      return answer(response, 400, 'InvalidRequestID', `no invocation ${requestId} is under way`);
    current = undefined;
    answer(response, 202);
    listener.replied(
      requestId,
      kind === 'response'
        ? { outcome: 'response', payload: body }
        : { outcome: 'error', failure: readFailure(body, request) },
    );
  };

  const server = createServer((request, response) => {
    const [, requestId, kind] = /^\/invocation\/([^/]+)\/(response|error)$/.exec(pathOf(request)) ?? [];
    if (request.method === 'GET' && pathOf(request) === '/invocation/next') return next(response);
    if (request.method === 'POST' && requestId !== undefined && kind !== undefined)
      return void reply(request, response, requestId, kind).catch(() => response.destroy());
    if (request.method === 'POST' && pathOf(request) === '/init/error')
      return void readBody(request).then((body) => {
        answer(response, 202);
        listener.initFailed(readFailure(body ?? '', request));
      });
    answer(response, 404, 'NotFound', `${request.method} ${request.url} is not part of the Runtime API`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    offer(invocation) {
      offered = invocation;
      handOver();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const pathOf = (request: IncomingMessage): string => {
  const path = request.url ?? '';
  return path.startsWith(`${VERSION}/`) ? path.slice(VERSION.length) : '';
};

/** Undefined when there is more than Lambda would take. */
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
    // A runtime that is breaking down may send anything: the header and the text itself still say something.
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
