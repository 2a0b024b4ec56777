import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { tickBody } from '../../lib/client/schedules/schedule.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { LOCAL_STATE_FILE } from '../../lib/tools/dev/state-file.ts';
import { runInProcess } from '../support/cli.ts';

const clock = createFakeClock(Date.parse('2027-01-31T02:58:30Z'));
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** The part of EventBridge Scheduler's API that is used, for one group. */
async function startSchedulerApi(group: string, schedules: Readonly<Record<string, object>>) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://local');
    asked.push(`${request.method} ${pathname}`);
    const reply = (status: number, body: object) => {
      response.writeHead(status, {
        'content-type': 'application/json',
        'x-amzn-errortype': status === 404 ? 'ResourceNotFoundException' : '',
      });
      response.end(JSON.stringify(body));
    };
    const [, , name] = pathname.split('/');
    const inGroup = searchParams.get('ScheduleGroup') ?? searchParams.get('groupName');
    if (inGroup !== group) return reply(404, { Message: `Schedule group ${inGroup} does not exist.` });
    const names = Object.keys(schedules);
    if (name !== undefined) return reply(200, { Name: name, ...schedules[name] });
    // Two pages, to be put together.
    const page = Number(searchParams.get('NextToken') ?? 0);
    return reply(200, {
      Schedules: names.slice(page, page + 1).map((Name) => ({ Name })),
      NextToken: page + 1 < names.length ? String(page + 1) : undefined,
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => server.close());
  const environment = {
    AWS_ENDPOINT_URL_SCHEDULER: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' },
  };
  return { environment, asked };
}

describe('leasehold schedules', () => {
  it('lists deployed schedules, page by page, with the next ticks', async () => {
    const report = { type: 'report', cron: '' };
    const { environment } = await startSchedulerApi('Shop-Jobs', {
      nightly: {
        ...{ ScheduleExpression: 'cron(0 4 * * ? *)', ScheduleExpressionTimezone: 'Europe/Berlin' },
        ...{ State: 'ENABLED', Target: { Input: tickBody('nightly', report) } },
      },
      often: {
        ...{ ScheduleExpression: 'rate(2 minutes)', State: 'ENABLED' },
        ...{
          CreationDate: Date.parse('2027-01-30T00:01:00Z') / 1000,
          Target: { Input: tickBody('often', report) },
        },
      },
      paused: { ScheduleExpression: 'rate(1 day)', State: 'DISABLED', Target: { Input: 'by hand' } },
    });
    const run = await runInProcess(['schedules', '--service', 'Shop-Jobs', '--ticks', '2', '--json'], {
      environment,
      clock,
    });
    expect(run.stderr).toBe('');
    expect(run.json()).toEqual({
      schedules: [
        {
          ...{
            name: 'nightly',
            when: 'cron(0 4 * * ? *)',
            timeZone: 'Europe/Berlin',
            type: 'report',
            isEnabled: true,
          },
          next: [Date.parse('2027-01-31T03:00Z'), Date.parse('2027-02-01T03:00Z')],
        },
        {
          ...{ name: 'often', when: 'rate(2 minutes)', type: 'report', isEnabled: true },
          next: [Date.parse('2027-01-31T02:59Z'), Date.parse('2027-01-31T03:01Z')],
        },
        { name: 'paused', when: 'rate(1 day)', type: '?', isEnabled: false, next: [] },
      ],
    });
    const text = await runInProcess(['schedules'], {
      environment: { ...environment, LEASEHOLD_SERVICE_NAME: 'Shop-Jobs' },
      clock,
    });
    expect(text.stdout).toMatch(
      /nightly +cron\(0 4 \* \* \? \*\) +Europe\/Berlin +report +2027-01-31 03:00:00 UTC/,
    );
    expect(text.stdout).toMatch(/paused .*disabled/);
  });

  it('lists those of the local stack', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'leasehold-schedules-'));
    ends.push(() => rmSync(directory, { recursive: true }));
    const file = join(directory, LOCAL_STATE_FILE);
    mkdirSync(dirname(file), { recursive: true });
    const schedules = { often: { rate: '2 minutes', type: 'poll' } };
    writeFileSync(
      file,
      JSON.stringify({ pid: process.pid, tableName: 't', queueUrl: 'http://q', environment: {}, schedules }),
    );
    // What `leasehold dev --env` prints, in the shell.
    const local = { LEASEHOLD_SERVICE_NAME: 'leasehold', LEASEHOLD_QUEUE_URL: 'http://q' };
    for (const environment of [{}, local]) {
      const run = await runInProcess(['schedules', '--json', '--ticks', '1'], {
        ...{ directory, clock, environment },
      });
      expect(run.json()).toEqual({
        schedules: [
          {
            ...{ name: 'often', when: 'rate(2 minutes)', type: 'poll', isEnabled: true },
            next: [Date.parse('2027-01-31T03:00Z')],
          },
        ],
      });
    }
    const stopped = await runInProcess(['schedules'], { clock, environment: local });
    expect([stopped.code, stopped.stderr]).toEqual([2, expect.stringContaining("start 'leasehold dev'")]);
  });
});
