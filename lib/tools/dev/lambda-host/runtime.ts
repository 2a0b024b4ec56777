import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

/** Runs inside a sandbox, in place of AWS's runtime interface client. */

type Handler = (event: unknown, context: object) => unknown;

const environment = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set; the Lambda-like host sets it`);
  return value;
};

const api = environment('AWS_LAMBDA_RUNTIME_API');
// No timeout, because an idle runtime may wait indefinitely for its next event.
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function call(
  method: 'GET' | 'POST',
  path: string,
  body?: string,
  headers: Record<string, string> = {},
): Promise<{ headers: IncomingHttpHeaders; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `http://${api}/2018-06-01/runtime${path}`,
      { method, agent, headers },
      (response) => {
        text(response).then((body) => resolve({ headers: response.headers, body }), reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const errorBody = (error: unknown, errorType?: string) => {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  return JSON.stringify({
    errorType: errorType ?? name,
    errorMessage: message,
    stackTrace: (stack ?? '').split('\n'),
  });
};

const report = (path: string, error: unknown, errorType?: string) =>
  call('POST', path, errorBody(error, errorType), {
    'content-type': 'application/json',
    'lambda-runtime-function-error-type': errorType ?? 'Unhandled',
  });

async function loadHandler(): Promise<Handler> {
  const [file, name] = environment('_HANDLER').split('.') as [string, string];
  const module = await import(pathToFileURL(join(environment('LAMBDA_TASK_ROOT'), `${file}.mjs`)).href);
  if (typeof module[name] !== 'function')
    throw new Error(`${file}.mjs exports no function '${name}'; export one, or name another handler`);
  return module[name];
}

const contextOf = (headers: IncomingHttpHeaders) => {
  const deadlineAt = Number(headers['lambda-runtime-deadline-ms']);
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionName: environment('AWS_LAMBDA_FUNCTION_NAME'),
    functionVersion: environment('AWS_LAMBDA_FUNCTION_VERSION'),
    invokedFunctionArn: String(headers['lambda-runtime-invoked-function-arn']),
    memoryLimitInMB: environment('AWS_LAMBDA_FUNCTION_MEMORY_SIZE'),
    awsRequestId: String(headers['lambda-runtime-aws-request-id']),
    logGroupName: environment('AWS_LAMBDA_LOG_GROUP_NAME'),
    logStreamName: environment('AWS_LAMBDA_LOG_STREAM_NAME'),
    getRemainingTimeInMillis: () => Math.max(0, deadlineAt - Date.now()),
  };
};

let current = '';

/** As on Lambda, an uncaught error ends the process. */
const dieOf = (errorType: string, code: number) => (error: unknown) => {
  console.error(error);
  const path = current === '' ? '/init/error' : `/invocation/${current}/error`;
  void report(path, error, errorType).finally(() => process.exit(code));
};
process.on('uncaughtException', dieOf('Runtime.UncaughtException', 129));
process.on('unhandledRejection', dieOf('Runtime.UnhandledPromiseRejection', 128));
// The host holds the other end of stdin, so this process ends with it however it dies.
process.stdin.on('end', () => process.exit(0)).resume();
process.stdin.on('error', () => process.exit(0));

let handler: Handler;
try {
  handler = await loadHandler();
} catch (error) {
  console.error(error);
  await report('/init/error', error, 'Runtime.ImportModuleError').catch(() => {});
  process.exit(1);
}
for (;;) {
  let invocation: Awaited<ReturnType<typeof call>>;
  try {
    invocation = await call('GET', '/invocation/next');
  } catch {
    process.exit(0);
  }
  current = String(invocation.headers['lambda-runtime-aws-request-id']);
  const path = `/invocation/${current}`;
  try {
    const result = await handler(JSON.parse(invocation.body), contextOf(invocation.headers));
    await call('POST', `${path}/response`, JSON.stringify(result ?? null), {
      'content-type': 'application/json',
    });
  } catch (error) {
    await report(`${path}/error`, error).catch(() => process.exit(1));
  }
}
