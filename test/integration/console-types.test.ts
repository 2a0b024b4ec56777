import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createControlReader, parseControl } from '../../lib/protocol/limits/control.ts';
import { CONTROL_KEY, type Limit } from '../../lib/wire/limits.ts';
import { type ConsoleStage, startConsoleStage } from '../support/console-stage.ts';

let stage: ConsoleStage;
const clock = { now: () => Date.now(), monotonic: () => performance.now() };
const post = async (path: string, body: object = {}) => {
  const reply = await stage.request(`/api/types/${path}`, { method: 'POST', body: JSON.stringify(body) });
  return { status: reply.status, ...((await reply.json()) as { ok: boolean; message: string }) };
};
const control = async () => parseControl(await stage.table.read(CONTROL_KEY));

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

  it('is not changed by a page that may only read, nor by another action', async () => {
    expect((await post('mail/stop')).status).toBe(404);
    await stage.console.stop();
    stage = await startConsoleStage({ queue: undefined });
    expect((await post('mail/pause')).status).toBe(403);
  });
});
