import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type RuntimeApi,
  type RuntimeFailure,
  type RuntimeReply,
  startRuntimeApi,
} from '../../lib/tools/dev/lambda-host/runtime-api.ts';

/** What AWS's own runtime interface client sends and expects, sent by hand. */
describe('the Lambda Runtime API', () => {
  let api: RuntimeApi;
  let isReady = false;
  let initFailures: RuntimeFailure[] = [];
  let replies: [string, RuntimeReply][] = [];

  beforeEach(async () => {
    isReady = false;
    initFailures = [];
    replies = [];
    api = await startRuntimeApi({
      ready: () => {
        isReady = true;
      },
      initFailed: (failure) => initFailures.push(failure),
      replied: (requestId, reply) => replies.push([requestId, reply]),
    });
  });
  afterEach(() => api.close());

  const url = (path: string) => `http://${api.address}/2018-06-01/runtime${path}`;
  const offer = (requestId: string, event: unknown = {}) =>
    api.offer({ requestId, event: JSON.stringify(event), deadlineAt: 1_234, functionArn: 'arn:x' });
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    fetch(url(path), { method: 'POST', body, headers });

  it('holds the request for the next event until there is one, and then hands it over with its headers', async () => {
    const next = fetch(url('/invocation/next'));
    await expect.poll(() => isReady).toBe(true);
    offer('one', { n: 1 });
    const reply = await next;
    expect(reply.status).toBe(200);
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      'lambda-runtime-aws-request-id': 'one',
      'lambda-runtime-deadline-ms': '1234',
      'lambda-runtime-invoked-function-arn': 'arn:x',
    });
    expect(reply.headers.get('lambda-runtime-trace-id')).toMatch(/^Root=1-/);
    expect(await reply.json()).toEqual({ n: 1 });
  });

  it('takes the response of the invocation under way, once', async () => {
    offer('one');
    await fetch(url('/invocation/next'));
    expect((await post('/invocation/one/response', '"fine"')).status).toBe(202);
    expect((await post('/invocation/one/response', '"again"')).status).toBe(400);
    expect((await post('/invocation/other/response', '"stray"')).status).toBe(400);
    expect(replies).toEqual([['one', { outcome: 'response', payload: '"fine"' }]]);
  });

  it('takes an error, by its body or, where that cannot be read, by its header', async () => {
    offer('one');
    await fetch(url('/invocation/next'));
    await post('/invocation/one/error', JSON.stringify({ errorType: 'TypeError', errorMessage: 'no' }));
    offer('two');
    await fetch(url('/invocation/next'));
    await post('/invocation/two/error', 'gibberish', { 'lambda-runtime-function-error-type': 'Runtime.Odd' });
    expect(replies.map(([, reply]) => reply)).toEqual([
      { outcome: 'error', failure: { errorType: 'TypeError', errorMessage: 'no' } },
      { outcome: 'error', failure: { errorType: 'Runtime.Odd', errorMessage: 'gibberish' } },
    ]);
  });

  it('takes an error of initialisation', async () => {
    expect((await post('/init/error', JSON.stringify({ errorType: 'E', errorMessage: 'm' }))).status).toBe(
      202,
    );
    expect(initFailures).toEqual([{ errorType: 'E', errorMessage: 'm' }]);
    expect(isReady).toBe(false);
  });

  it('refuses a response larger than Lambda takes, and the invocation can still be answered', async () => {
    offer('one');
    await fetch(url('/invocation/next'));
    expect((await post('/invocation/one/response', 'x'.repeat(6 * 1024 * 1024 + 1))).status).toBe(413);
    expect((await post('/invocation/one/error', '{}')).status).toBe(202);
    expect(replies).toHaveLength(1);
  });

  it('knows nothing else', async () => {
    expect((await fetch(url('/elsewhere'))).status).toBe(404);
    expect((await fetch(`http://${api.address}/`)).status).toBe(404);
    expect((await post('/invocation/next', '')).status).toBe(404);
  });
});
