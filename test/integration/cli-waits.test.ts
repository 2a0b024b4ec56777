import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { planPark } from '../../lib/protocol/decisions/dispatch.ts';
import { createControlReader } from '../../lib/protocol/limits/control.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { createFakeClock, type FakeClock } from '../../lib/testing/fake-clock.ts';
import { type Limit, limitGroup, pauseGroups } from '../../lib/wire/limits.ts';
import { poolsText } from '../../lib/wire/pools.ts';
import { type CliSystem, createCliSystem } from '../support/cli.ts';
import { createQueue, describeOnOneEngine } from '../support/engines.ts';
import { newJob } from '../support/jobs.ts';

describeOnOneEngine('what waits', (engine) => {
  let system: CliSystem;
  let clock: FakeClock;

  beforeEach(async () => {
    clock = createFakeClock();
    system = await createCliSystem(engine, clock);
    await createControlReader({ table: system.table, clock }).declare(
      new Map<string, Limit | undefined>([
        ['render', 3],
        ['sync', { perKey: 2 }],
        ['mail', undefined],
      ]),
    );
  });
  afterEach(() => system.close());

  const park = async (jobId: string, waitsFor: string, job: { type: string; key?: string }) => {
    const dispatch = planPark(clock.now(), { waitsFor }, defaultSettings);
    await system.store.schedule(newJob(jobId, job), dispatch, { waitsFor });
    await clock.advance(1000);
  };
  const parkForTenant = async (count: number) => {
    const name = limitGroup('sync', 'tenant-7');
    for (const jobId of ['runs-1', 'runs-2'])
      await system.store.admit({ name, limit: 2 }, { jobId, attempt: 1 });
    for (let i = 0; i < count; i++) await park(`sync-${i}`, name, { type: 'sync', key: 'tenant-7' });
  };

  describe('for a limit', () => {
    it('is told by show: how many places are taken, and how many jobs are ahead', async () => {
      await parkForTenant(15);
      const { stdout } = await system.run(['show', 'sync-14'], { columns: 200 });
      expect(stdout).toContain('it waits for 2 of 2 of tenant-7; 14 ahead');
      expect((await system.run(['show', 'sync-0'], { columns: 200 })).stdout).toContain(
        'it waits for 2 of 2 of tenant-7; it is next',
      );
      await system.run(['limit', 'sync', '1', '--key', 'tenant-7']);
      expect((await system.run(['show', 'sync-3', '--json'])).json()).toMatchObject({
        place: { taken: 2, limit: 1, ahead: { count: 3, complete: true } },
      });
    });

    it('is counted by stats, most waiting first, with changed limits', async () => {
      await parkForTenant(3);
      await park('render-0', limitGroup('render'), { type: 'render' });
      await system.run(['limit', 'render', '1']);
      await system.run(['limit', 'sync', '9', '--key', 'tenant-8']);
      const { stdout } = await system.run(['stats'], { columns: 80 });
      const lines = stdout.split('\n').map((line) => line.trim().replaceAll(/ +/g, ' '));
      expect(lines).toEqual(
        expect.arrayContaining([
          'parked 4',
          'for 3 tenant-7 of sync, at most 2 at once',
          'for 1 render, at most 1 at once',
          'limit changed 9 tenant-8 of sync',
        ]),
      );
      expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    });
  });

  it('is listed by group', async () => {
    await parkForTenant(2);
    await park('render-0', limitGroup('render'), { type: 'render' });
    await system.store.claim({ job: newJob('runs', { type: 'sync', key: 'tenant-7' }), owner: 'w/1' });
    const ids = async (...filter: string[]) =>
      (await system.run(['ls', ...filter, '--json']))
        .json<{ jobs: { jobId: string }[] }>()
        .jobs.map(({ jobId }) => jobId)
        .sort();
    expect(await ids('--parked')).toEqual(['render-0', 'sync-0', 'sync-1']);
    expect(await ids('--parked', '--type', 'render')).toEqual(['render-0']);
    expect(await ids('--key', 'tenant-7')).toEqual(['runs', 'sync-0', 'sync-1']);
    expect(await ids('--parked', '--key', 'tenant-8')).toEqual([]);
    expect((await system.run(['ls', '--parked'], { columns: 120 })).stdout).toMatch(
      /sync-0.*parked for tenant-7 of sync/,
    );
  });

  describe('for a paused type', () => {
    it('is a reason of the verdict that names the command, and of the job', async () => {
      await system.run(['pause', 'mail']);
      const groups = pauseGroups('mail');
      for (const i of [0, 1, 2]) await park(`mail-${i}`, groups[i] as string, { type: 'mail' });
      await clock.advance(57_000);
      const { stdout } = await system.run(['stats'], { columns: 200 });
      expect(stdout).toContain('mail was paused 1 min ago; 3 of its jobs wait');
      expect(stdout).toContain("'leasehold resume mail' lets them run");
      expect((await system.run(['show', 'mail-1'], { columns: 200 })).stdout).toContain(
        'it waits because mail was paused 1 min ago',
      );
      await system.run(['resume', 'mail']);
      expect((await system.run(['stats', '--json'])).json()).toMatchObject({ parked: { paused: [] } });
    });
  });

  describe('in pools', () => {
    const withPools = (renderUrl: string) => ({
      environment: {
        LEASEHOLD_POOLS: poolsText({
          render: { queueUrl: renderUrl, types: ['render'], tasks: { max: 20, concurrency: 4 } },
        }),
      },
      columns: 80,
    });

    it('is counted for each queue, and a pending job says whose it is', async () => {
      const renderUrl = await createQueue(system.sqs, {});
      const MessageBody = '{"type":"render"}';
      for (let i = 0; i < 3; i++)
        await system.sqs.send(new SendMessageCommand({ QueueUrl: renderUrl, MessageBody }));
      await system.store.claim({ job: newJob('running', { type: 'render' }), owner: 'w/1' });
      const { stdout } = await system.run(['stats'], withPools(renderUrl));
      const lines = stdout.split('\n').map((line) => line.trim().replaceAll(/ +/g, ' '));
      expect(lines).toContain('pool render 3 1 running, at most 20 containers of 4');
      expect(lines).toContain('pool default 0 0 running, a function or a process of your own');
      await park('render-0', limitGroup('render'), { type: 'render' });
      const shown = await system.run(['show', 'render-0'], { ...withPools(renderUrl), columns: 300 });
      expect(shown.stdout).toContain(`(pool 'render', queue ${renderUrl.split('/').at(-1)})`);
    });

    it('is down where a pool has no queue', async () => {
      const run = await system.run(['stats', '--json'], withPools(`${system.queueUrl}-gone`));
      expect(run.json()).toMatchObject({
        pools: [{ name: 'default' }, { name: 'render', isAbsent: true }],
        health: { state: 'down', reasons: [{ code: 'poolAbsent' }, { code: 'reaperAbsent' }] },
      });
    });
  });
});
