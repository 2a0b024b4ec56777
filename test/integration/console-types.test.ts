import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { planPark } from '../../lib/protocol/decisions/dispatch.ts';
import { createControlReader, parseControl } from '../../lib/protocol/limits/control.ts';
import type { JobDetail } from '../../lib/tools/console/page-messages.ts';
import { CONTROL_KEY, type Limit, limitGroup, pauseGroups } from '../../lib/wire/limits.ts';
import { type ConsoleStage, startConsoleStage } from '../support/console-stage.ts';
import { newJob } from '../support/jobs.ts';

let stage: ConsoleStage;
const clock = { now: () => Date.now(), monotonic: () => performance.now() };
const post = async (path: string, body: object = {}) => {
  const reply = await stage.request(`/api/types/${path}`, { method: 'POST', body: JSON.stringify(body) });
  return { status: reply.status, ...((await reply.json()) as { ok: boolean; message: string }) };
};
const control = async () => parseControl(await stage.table.read(CONTROL_KEY));
const park = (jobId: string, waitsFor: string, job: { type: string; key?: string }) =>
  stage.store.schedule(newJob(jobId, job), planPark(Date.now(), { waitsFor }, stage.settings), { waitsFor });
const poolsOf = async () => [
  {
    ...{ name: 'render', queueUrl: 'https://sqs/render', types: ['render'] },
    ...{ running: { count: 0, complete: true }, queue: { visible: 4, inFlight: 0, delayed: 0 } },
  },
];

const rhythm = { pollMs: 20, idlePollMs: 20, queueEveryMs: 20, failuresEveryMs: 1000 };

beforeEach(async () => {
  stage = await startConsoleStage({ rhythm });
  await createControlReader({ table: stage.table, clock }).declare(
    new Map<string, Limit | undefined>([
      ['sync', { perKey: 2 }],
      ['mail', undefined],
    ]),
  );
});
afterEach(() => stage.console.stop());

describe('a type', () => {
  it('is paused, resumed and limited by the page, and the verdict knows at once', async () => {
    expect(await post('mail/pause')).toMatchObject({ status: 200, ok: true });
    await expect.poll(() => stage.console.watcher.signs().parked?.paused).toMatchObject([{ type: 'mail' }]);
    expect(await post('mail/resume')).toMatchObject({ status: 200, ok: true });
    expect(await post('sync/limit', { limit: 5 })).toMatchObject({ status: 200, ok: true });
    expect((await control()).limits).toEqual(new Map([['sync', 5]]));
    expect(await post('sync/limit')).toMatchObject({ ok: true });
    expect((await control()).limits.size).toBe(0);
    await expect.poll(() => stage.console.watcher.signs().parked?.paused).toEqual([]);
  });

  it.each<[string, string, object, RegExp]>([
    ['an unknown type', 'mial/pause', {}, /no handler for type 'mial'.*'mail'/],
    ['a type without a limit', 'mail/limit', { limit: 2 }, /type is 'mail'.*'limit' in its definition: sync/],
    ['a limit of 0', 'sync/limit', { limit: 0 }, /limit is 0.*from 1 to 100/],
    ['a limit that is no number', 'sync/limit', { limit: 'x' }, /limit is 'x'/],
    ['an illegal key', 'sync/limit', { limit: 1, key: 'a:b' }, /key is 'a:b'/],
  ])('is refused as by the command line for %s, and nothing changes', async (_, path, body, message) => {
    const before = await control();
    expect(await post(path, body)).toMatchObject({
      ...{ status: 409, ok: false },
      message: expect.stringMatching(message),
    });
    expect(await control()).toEqual(before);
  });

  it('is not changed by a page that may only read, nor by another action', async () => {
    expect((await post('mail/stop')).status).toBe(404);
    await stage.console.stop();
    stage = await startConsoleStage({ queue: undefined });
    expect((await post('mail/pause')).status).toBe(403);
  });
});

it('shows what is parked, and the place of a job', async () => {
  const name = limitGroup('sync', 'tenant-7');
  for (const jobId of ['runs-1', 'runs-2'])
    await stage.store.admit({ name, limit: 2 }, { jobId, attempt: 1 });
  await park('first', name, { type: 'sync', key: 'tenant-7' });
  await new Promise((resolve) => setTimeout(resolve, 5));
  await park('second', name, { type: 'sync', key: 'tenant-7' });
  await park('letter', pauseGroups('mail')[3] as string, { type: 'mail' });
  await post('mail/pause');
  await expect
    .poll(() => stage.console.watcher.signs().parked)
    .toMatchObject({
      all: { count: 3 },
      groups: [{ type: 'sync', key: 'tenant-7', waiting: { count: 2 }, limit: 2 }],
      paused: [{ type: 'mail', waiting: { count: 1 } }],
    });
  const nextOf = async (jobId: string) =>
    ((await (await stage.request(`/api/jobs/${jobId}`)).json()) as JobDetail).next.map(
      ({ message }) => message,
    );
  expect(await nextOf('second')).toContain('it waits for 2 of 2 of tenant-7; 1 ahead');
  expect((await nextOf('letter')).join()).toContain('it waits because mail was paused');
});

it('finds a pool that no worker works, whatever the others do', async () => {
  await stage.console.stop();
  stage = await startConsoleStage({ rhythm, poolsOf });
  await expect
    .poll(() => stage.console.watcher.signs().pools)
    .toMatchObject([{ name: 'render', untakenMs: expect.any(Number) }]);
  await expect.poll(() => stage.console.watcher.signs().pools?.[0]?.untakenMs ?? 0).toBeGreaterThan(0);
});
