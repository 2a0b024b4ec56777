import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { running } from '../support/console-rows.ts';
import { type ConsoleStage, startConsoleStage } from '../support/console-stage.ts';
import { finishedRow, jobRow } from '../support/rows.ts';

const HOSTILE = '<img src=x onerror="globalThis.hit=1">';

let stage: ConsoleStage;
beforeAll(async () => {
  stage = await startConsoleStage();
  stage.table.put(jobRow('waiting'));
  stage.table.put(jobRow('hostile', { payload: JSON.stringify({ text: HOSTILE }) }));
});
afterAll(() => stage.console.stop());

/** A request with headers that fetch would not let through, such as Host. */
const rawRequest = (path: string, headers: Record<string, string>, method = 'GET', body?: string) =>
  new Promise<number>((resolve, reject) => {
    const sent = httpRequest(
      { host: '127.0.0.1', port: stage.console.port, path, method, headers },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });

const origin = () => `http://127.0.0.1:${stage.console.port}`;
const token = () => ({ 'x-leasehold-token': stage.console.token });

describe('the console lets in', () => {
  it('its own page, without a token, as it holds no data', async () => {
    const page = await fetch(`${origin()}/`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(await page.text()).not.toContain('waiting');
  });

  it('a reader with the token', async () => {
    const reply = await stage.request('/api/jobs/waiting');
    expect(reply.status).toBe(200);
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(await reply.json()).toMatchObject({ job: { jobId: 'waiting', status: 'pending' } });
  });

  it('requests by the name localhost as well', async () => {
    const host = `localhost:${stage.console.port}`;
    expect(await rawRequest('/api/jobs/waiting', { ...token(), host })).toBe(200);
  });
});

describe('the console refuses', () => {
  it.each(['/api/jobs/waiting', '/api/stream'])('%s without a token', async (path) => {
    expect((await fetch(origin() + path)).status).toBe(401);
  });

  it('a wrong token, of the same length or another, and one in the query of a write', async () => {
    const wrong = stage.console.token.replace(/./g, 'x');
    expect(
      (await stage.request('/api/jobs/waiting', { headers: { 'x-leasehold-token': wrong } })).status,
    ).toBe(401);
    expect((await stage.request('/api/jobs/waiting', { headers: { 'x-leasehold-token': '' } })).status).toBe(
      401,
    );
    const post = await fetch(`${origin()}/api/jobs/waiting/cancel?token=${stage.console.token}`, {
      method: 'POST',
    });
    expect(post.status).toBe(401);
    expect((await stage.store.read('waiting'))?.status).toBe('pending');
  });

  it.each(['evil.example', '127.0.0.1', '127.0.0.1:1', '169.254.169.254'])(
    'the host %j, which a rebound name would bring',
    async (host) => {
      expect(await rawRequest('/', { host })).toBe(403);
      expect(await rawRequest('/api/jobs/waiting', { host, ...token() })).toBe(403);
    },
  );

  it.each(['https://evil.example', 'null', 'http://127.0.0.1:1'])(
    'the origin %s, even with the token',
    async (foreign) => {
      const reply = await stage.request('/api/jobs/waiting/cancel', {
        method: 'POST',
        headers: { origin: foreign },
      });
      expect(reply.status).toBe(403);
      expect((await stage.store.read('waiting'))?.status).toBe('pending');
    },
  );

  it('a cross-site write that a browser marks as one', async () => {
    const headers = { ...token(), 'sec-fetch-site': 'cross-site', host: `127.0.0.1:${stage.console.port}` };
    expect(await rawRequest('/api/jobs/waiting/cancel', headers, 'POST')).toBe(403);
  });

  it('to be framed, to run foreign scripts, and to be read across origins', async () => {
    const { headers } = await fetch(`${origin()}/`);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  it('to leave its folder', async () => {
    for (const path of [
      '/../package.json',
      '/..%2f..%2fpackage.json',
      '/page/main.tsx',
      '/main.css/../state.ts',
    ])
      expect(await rawRequest(path, { host: `127.0.0.1:${stage.console.port}` })).toBe(404);
  });
});

describe('hostile ids and payloads', () => {
  it.each([
    '%00',
    '%3Cscript%3E',
    '..%2f..',
    'a'.repeat(5000),
    '%F0%9F%92%A9',
    "';DROP",
    '__proto__',
    'constructor',
  ])('are only ever looked up: %.40s', async (id) => {
    expect((await stage.request(`/api/jobs/${id}`)).status).toBe(404);
    const acted = await stage.request(`/api/jobs/${id}/cancel`, { method: 'POST' });
    expect([404, 409]).toContain(acted.status);
  });

  it('come back as JSON, never as a page', async () => {
    const reply = await stage.request('/api/jobs/hostile');
    expect(reply.headers.get('content-type')).toContain('application/json');
    expect(((await reply.json()) as { payload: string }).payload).toBe(JSON.stringify({ text: HOSTILE }));
  });

  it.each(['kill', '../kill', 'resume'])('a worker id that is none is not signalled: %s', async (action) => {
    for (const pid of ['0', '-1', '1', 'NaN', '1e9', '%31'])
      expect((await stage.request(`/api/workers/${pid}/${action}`, { method: 'POST' })).status).not.toBe(200);
  });
});

describe('an operator', () => {
  it.each(['', '[]', '{}', '{"jobIds":[]}', '{"jobIds":[1]}', '{"jobIds":[""]}', 'null', '{"jobIds":"a"}'])(
    'is told what a request for rows must be instead of %j',
    async (body) => {
      const reply = await stage.request('/api/rows', { method: 'POST', body });
      expect(reply.status).toBe(400);
      expect(await reply.json()).toMatchObject({ message: expect.stringContaining('1 to 100 ids') });
    },
  );

  it('cannot name too many, nor too much', async () => {
    const many = JSON.stringify({ jobIds: Array.from({ length: 101 }, (_, i) => `j${i}`) });
    expect((await stage.request('/api/rows', { method: 'POST', body: many })).status).toBe(400);
    const much = JSON.stringify({ jobIds: ['x'.repeat(300_000)] });
    const host = `127.0.0.1:${stage.console.port}`;
    expect(await rawRequest('/api/rows', { ...token(), host }, 'POST', much)).toBe(413);
  });

  it('is told which jobs match, stretch by stretch, with their rows read where the index cannot tell', async () => {
    const failed = (jobId: string, more: object) => finishedRow(jobId, 'failed', { errors: 5, ...more });
    const { console: all, request } = await startConsoleStage({ scan: undefined }, [
      ...Array.from({ length: 300 }, (_, i) =>
        failed(`mail-${i}`, { type: 'mail', lastError: i < 3 ? `Error: SMTP ${i}` : 'Error: full' }),
      ),
      failed('other', { type: 'resize', lastError: 'Error: SMTP 9' }),
      failed('bad:9', { type: 'mail', lastError: 'Error: SMTP 9' }),
      failed('old', { type: 'mail', lastError: 'Error: SMTP 9', finishedAt: Date.now() - 7_200_000 }),
      failed('broken', { type: 'mail', attempt: 'three' }),
      jobRow('waits', { type: 'mail' }),
      jobRow('waits-too'),
      running('busy', Date.now(), 60_000),
      running('ends', Date.now(), 60_000, { cancelRequested: true }),
    ]);
    const ask = async (filter: object): Promise<{ jobIds: string[]; cursor?: string }> =>
      (await request('/api/matching', { method: 'POST', body: JSON.stringify(filter) })).json();
    try {
      const first = await ask({ status: 'failed', type: 'mail', since: '1h' });
      const second = await ask({ status: 'failed', type: 'mail', since: '1h', cursor: first.cursor });
      expect(first.jobIds.length).toBeLessThanOrEqual(250);
      expect(second.cursor).toBeUndefined();
      const names = Array.from({ length: 300 }, (_, i) => `mail-${i}`);
      expect([...first.jobIds, ...second.jobIds].sort()).toEqual([...names, 'broken'].sort());

      const filter = { status: 'failed', type: 'mail', error: 'Error: SMTP #', since: '1h' };
      const read = await ask(filter);
      const rest = await ask({ ...filter, cursor: read.cursor });
      expect([...read.jobIds, ...rest.jobIds].sort()).toEqual(['mail-0', 'mail-1', 'mail-2']);
      expect(await ask({ status: 'pending', type: 'mail' })).toMatchObject({ jobIds: ['waits'] });
      expect((await ask({ status: 'pending' })).jobIds.sort()).toEqual(['waits', 'waits-too']);
      expect((await ask({ status: 'pending', search: 'TOO' })).jobIds).toEqual(['waits-too']);
      expect((await ask({ status: 'running' })).jobIds).toEqual(['busy']);
    } finally {
      await all.stop();
    }
  });

  it.each([
    ...['', 'null', '[]', '{}', '{"status":"done"}', '{"status":["failed"]}'],
    ...['{"status":"failed","type":1}', '{"status":"failed","since":"constructor"}'],
    ...['{"status":"failed","cursor":"x"}', '{"status":"running","cursor":"1/f0:%ff"}'],
  ])('is told what a request for all that match must be instead of %j', async (body) => {
    const reply = await stage.request('/api/matching', { method: 'POST', body });
    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({ message: expect.stringContaining('must be') });
  });

  it('kills no cell where no workers run', async () => {
    expect((await stage.request(`/api/cells/${process.pid}/kill`, { method: 'POST' })).status).toBe(403);
  });

  it('cannot change anything in a console that only shows', async () => {
    const showing = await startConsoleStage({ queue: undefined });
    try {
      showing.table.put(jobRow('kept'));
      const reply = await showing.request('/api/jobs/kept/cancel', { method: 'POST' });
      expect(reply.status).toBe(403);
      expect(await reply.json()).toMatchObject({ message: expect.stringContaining('--write') });
      expect((await showing.store.read('kept'))?.status).toBe('pending');
    } finally {
      await showing.console.stop();
    }
  });
});

describe('the stream', () => {
  /** Reads events until one satisfies; the connection is then closed. */
  async function readUntil(isIt: (event: string, data: unknown) => boolean) {
    const seen: { event: string; data: unknown }[] = [];
    const reply = await fetch(`${origin()}/api/stream?token=${stage.console.token}`);
    let text = '';
    for await (const chunk of reply.body as unknown as AsyncIterable<Uint8Array>) {
      text += new TextDecoder().decode(chunk);
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, event = ''] = /^event: (.*)$/m.exec(block) ?? [];
        const [, data = 'null'] = /^data: (.*)$/m.exec(block) ?? [];
        seen.push({ event, data: JSON.parse(data) });
        // Leaving the loop closes the connection.
        if (isIt(event, JSON.parse(data))) return seen;
      }
    }
    return seen;
  }

  it('tells everything at first, then what changed', async () => {
    const first = await readUntil((event) => event === 'figures');
    expect(first.map(({ event }) => event)).toEqual(['hello', 'jobs', 'workers', 'figures']);
    expect(first[1]?.data).toMatchObject({ reset: true });
    const change = readUntil(
      (event, data) =>
        event === 'jobs' &&
        JSON.stringify(data).includes('"appears-later"') &&
        !JSON.stringify(data).includes('reset'),
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    stage.table.put(jobRow('appears-later'));
    const seen = await change;
    expect(seen.at(-1)?.data).toMatchObject({
      jobs: [{ jobId: 'appears-later', status: 'pending' }],
      gone: [],
    });
  });

  it('follows a job from waiting to its end, with a timeline that says so', async () => {
    const { store, console: page } = stage;
    stage.table.put(jobRow('followed'));
    await page.watcher.poll();
    const claimed = await store.claim({ job: { jobId: 'followed' }, owner: 'worker-1/a' });
    if (claimed.outcome !== 'claimed') throw new Error(claimed.outcome);
    const claim = {
      jobId: 'followed',
      owner: 'worker-1/a',
      attempt: claimed.job.attempt,
      startedAt: claimed.job.startedAt,
    };
    await page.watcher.poll();
    expect(page.watcher.jobs.get('followed')).toMatchObject({ status: 'running', attempt: 1 });
    await store.heartbeat(claim, claimed.job.leaseUntil + 1);
    await page.watcher.poll();
    await store.complete(claim, { ok: true });
    await page.watcher.poll();
    const detail = (await (await stage.request('/api/jobs/followed')).json()) as {
      timeline: { kind: string; attempt?: number }[];
      result: string;
    };
    expect(detail.timeline.map(({ kind }) => kind)).toEqual(['created', 'claimed', 'done', 'finished']);
    expect(detail.result).toBe('{"ok":true}');
    expect(page.watcher.jobs.get('followed')).toMatchObject({ status: 'done' });
  });
});
