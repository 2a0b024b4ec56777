import { request as httpRequest } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConsoleStage, startConsoleStage } from '../support/console-stage.ts';
import { fuzzRuns } from '../support/fuzz-runs.ts';
import { finishedRow, jobRow } from '../support/rows.ts';

let stage: ConsoleStage;

beforeAll(async () => {
  stage = await startConsoleStage();
  for (const row of [jobRow('waiting'), finishedRow('done', 'done'), finishedRow('failed', 'failed')])
    stage.table.put(row);
  stage.table.put(jobRow('bad', { attempt: 'three' }));
});
afterAll(() => stage.console.stop());

const segment = fc.oneof(
  fc.constantFrom(
    ...['api', 'jobs', 'workers', 'stream', 'waiting', 'done', 'failed', 'bad', 'leader:reaper', 'cancel'],
    ...['retry', 'revive', 'takeBack', 'kill', 'pause', '1', '-1', '..', '.', '__proto__', 'constructor'],
  ),
  fc.string({ maxLength: 12 }).map(encodeURIComponent),
  fc.string({ unit: 'binary', maxLength: 4 }).map((text) => encodeURIComponent(text.toWellFormed())),
  fc.constantFrom('%', '%ff', '%2e%2e', '%00', 'x'.repeat(400)),
);
const path = fc.oneof(
  fc.array(segment, { maxLength: 5 }).map((parts) => `/${parts.join('/')}`),
  fc.tuple(segment, segment).map(([id, action]) => `/api/jobs/${id}/${action}`),
  segment.map((id) => `/api/jobs/${id}`),
  fc.tuple(segment, segment).map(([pid, action]) => `/api/workers/${pid}/${action}`),
  segment.map((pid) => `/api/cells/${pid}/kill`),
  fc.constant('/api/matching'),
);
const filter = fc.record(
  {
    status: fc.constantFrom('failed', 'pending', 'running', 'all', null),
    search: fc.string(),
    error: fc.string(),
    since: fc.constantFrom('1h', '7d', '__proto__'),
    cursor: fc.oneof(fc.string(), fc.stringMatching(/^-?\d{1,400}(\/[fqr]\d:[a-z%]{1,9}){0,2}$/)),
  },
  { requiredKeys: ['status'] },
);
const anyBody = fc.oneof(fc.string(), filter.map(JSON.stringify));
const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH');
const query = fc.oneof(
  fc.constant(''),
  fc.string({ maxLength: 10 }).map((text) => `?${encodeURIComponent(text)}`),
);
const headers = fc.dictionary(
  fc.constantFrom('origin', 'sec-fetch-site', 'content-type', 'accept', 'x-forwarded-host', 'cookie'),
  fc.stringMatching(/^[ -~]{0,20}$/),
  { maxKeys: 2 },
);

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** By node:http, because fetch would tidy the path up first. The stream is cut off once it has answered. */
const send = (
  target: string,
  how: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
  },
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const { body, ...rest } = how;
    const sent = httpRequest({ host: '127.0.0.1', port: stage.console.port, path: target, ...rest });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const type = String(response.headers['content-type'] ?? '');
      let text = '';
      const end = () => resolve({ status: response.statusCode ?? 0, type, body: text });
      response.on('data', (bytes: Buffer) => {
        text += bytes.toString();
      });
      response.on('end', end);
      if (type.startsWith('text/event-stream')) {
        end();
        response.destroy();
      }
    });
    sent.end(body);
  });

describe('whatever is asked of the console', () => {
  it('is answered in words, and never breaks it', async () => {
    await fc.assert(
      fc.asyncProperty(path, query, method, headers, anyBody, async (place, search, verb, more, body) => {
        const token = { 'x-leasehold-token': stage.console.token };
        const carries = verb === 'POST' || verb === 'PUT' || verb === 'PATCH';
        const reply = await send(place + search, {
          method: verb,
          headers: { ...more, ...token },
          body: carries ? body : undefined,
        });
        // A row that cannot be read is the one thing that the console may fail at, and then it says which.
        if (reply.status >= 500 && verb !== 'HEAD') expect(reply.body).toMatch(/row '(bad|leader:reaper)'/);
        if (reply.type.includes('json') && reply.body !== '') {
          const told = JSON.parse(reply.body);
          if (reply.status >= 400) expect(told.message.length).toBeGreaterThan(5);
        }
      }),
      fuzzRuns(600),
    );
    expect((await stage.request('/api/jobs/waiting')).status).toBe(200);
  });

  it('shows and changes nothing without the token', async () => {
    const before = JSON.stringify(stage.table.rows());
    await fc.assert(
      fc.asyncProperty(path, query, method, headers, async (place, search, verb, more) => {
        const reply = await send(place + search, { method: verb, headers: more });
        if (reply.status === 200) expect(reply.body).not.toMatch(/waiting|"jobId"/);
        // Dots lead out of the folder, as they do everywhere.
        const { pathname } = new URL(`http://console${place}`);
        if (pathname.startsWith('/api/')) expect([400, 401, 403, 404]).toContain(reply.status);
      }),
      fuzzRuns(400),
    );
    expect(JSON.stringify(stage.table.rows())).toBe(before);
  });
});
