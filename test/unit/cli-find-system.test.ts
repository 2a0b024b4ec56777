import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { routingFromEnvironment } from '../../lib/settings/environment.ts';
import { findSystem } from '../../lib/tools/cli/system/find-system.ts';
import { locateSystem } from '../../lib/tools/cli/system/locate-system.ts';
import { LOCAL_STATE_FILE } from '../../lib/tools/dev/state-file.ts';
import { tagsOfPools } from '../../lib/wire/schedule-group.ts';
import { runInProcess } from '../support/cli.ts';
import { startDeploymentApi } from '../support/deployment-api.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'leasehold-find-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const writeState = (text: string) => {
  mkdirSync(dirname(join(folder, LOCAL_STATE_FILE)), { recursive: true });
  writeFileSync(join(folder, LOCAL_STATE_FILE), text);
};
const local = {
  tableName: 'local-table',
  queueUrl: 'http://127.0.0.1:9/q',
  environment: { AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:8', AWS_ACCESS_KEY_ID: 'local' },
};
const deployed = { LEASEHOLD_TABLE_NAME: 't', LEASEHOLD_QUEUE_URL: 'https://q' };

it('takes the options before the environment, and the environment before a local stack', () => {
  writeState(JSON.stringify(local));
  expect(findSystem({ table: 'mine' }, deployed, folder)).toMatchObject({
    tableName: 'mine',
  });
  expect(findSystem({}, deployed, folder)).toMatchObject({
    tableName: 't',
    queueUrl: 'https://q',
  });
  expect(findSystem({}, {}, folder)).toMatchObject({ tableName: 'local-table' });
});

describe('by the name of a service', () => {
  const tags = {
    ...{ 'leasehold:table': 'Shop-Table', 'leasehold:queue': 'https://sqs/shop' },
    'leasehold:event-bus': 'bus',
  };
  let api: Awaited<ReturnType<typeof startDeploymentApi>>;
  beforeEach(async () => {
    api = await startDeploymentApi({ 'Shop-Jobs': tags, bare: {} });
  });
  afterEach(() => api.close());

  it('finds table, queue and bus, from --service or the environment', async () => {
    const shop = {
      ...{ tableName: 'Shop-Table', queueUrl: 'https://sqs/shop' },
      environment: { LEASEHOLD_EVENT_BUS_NAME: 'bus', LEASEHOLD_SERVICE_NAME: 'Shop-Jobs' },
    };
    expect(await locateSystem({ service: 'Shop-Jobs' }, api.environment, folder)).toMatchObject(shop);
    const exported = { ...api.environment, LEASEHOLD_SERVICE_NAME: 'Shop-Jobs' };
    expect(await locateSystem({}, exported, folder)).toMatchObject(shop);
    // A queue of the user's own, as for a test.
    const own = await locateSystem(
      { service: 'Shop-Jobs', queueUrl: 'https://mine' },
      api.environment,
      folder,
    );
    expect(own.queueUrl).toBe('https://mine');
  });

  it('finds the queue, the types and the containers of every pool', async () => {
    const types = Array.from({ length: 12 }, (_, i) => `${'t'.repeat(60)}-${i}`);
    const pools = {
      render: { queueUrl: 'https://sqs/render', types, tasks: { max: 20, concurrency: 4 } },
      mail: { queueUrl: 'https://sqs/mail', types: ['mail'] },
    };
    const withPools = await startDeploymentApi({ Shop: { ...tags, ...tagsOfPools(pools) } });
    const { environment } = await locateSystem({ service: 'Shop' }, withPools.environment, folder);
    withPools.close();
    expect(routingFromEnvironment(environment)).toEqual({ pool: 'default', pools });
  });

  it.each(['nowhere', 'bare'])('says what to check where %s is no deployment', async (service) => {
    await expect(locateSystem({ service }, api.environment, folder)).rejects.toThrow(
      `No deployment is named '${service}' in this account and region`,
    );
  });

  it('refuses a table as well', async () => {
    await expect(locateSystem({ service: 's', table: 't' }, {}, folder)).rejects.toThrow('either --service');
  });
});

it('reaches a local stack by its own endpoints and credentials, never by those of the shell', () => {
  writeState(JSON.stringify(local));
  const shell = { AWS_ACCESS_KEY_ID: 'real', AWS_ENDPOINT_URL_DYNAMODB: 'https://real' };
  expect(findSystem({}, shell, folder).environment).toMatchObject(local.environment);
});

it('says what to do when there is no system, or the state of the local one cannot be read', () => {
  expect(() => findSystem({}, {}, folder)).toThrow("start the local stack with 'leasehold dev'");
  expect(() => findSystem({ queueUrl: 'q' }, {}, folder)).toThrow('only a queue');
  writeState('{');
  expect(() => findSystem({}, {}, folder)).toThrow('delete it');
  writeState('{}');
  expect(() => findSystem({}, {}, folder)).toThrow('names no table');
});

it('passes over a local stack whose process is gone', () => {
  writeState(JSON.stringify({ ...local, pid: process.pid }));
  expect(findSystem({}, {}, folder).tableName).toBe('local-table');
  writeState(JSON.stringify({ ...local, pid: 2 ** 30 }));
  expect(() => findSystem({}, {}, folder)).toThrow("start the local stack with 'leasehold dev'");
});

it('refuses the state of another user, and one that any user can write', () => {
  writeState(JSON.stringify(local));
  const file = join(folder, LOCAL_STATE_FILE);
  for (const path of [file, dirname(file)]) {
    chmodSync(path, 0o777);
    expect(() => findSystem({}, {}, folder)).toThrow(`any user can write to ${path}`);
    chmodSync(path, 0o755);
  }
  const me = process.getuid?.() ?? 0;
  const getuid = vi.spyOn(process, 'getuid').mockReturnValue(me + 1);
  try {
    expect(() => findSystem({}, {}, join(folder, 'below'))).toThrow(`belongs to user ${me}`);
  } finally {
    getuid.mockRestore();
  }
});

it('takes only the variables of a local stack from its state, and prints them so that a shell takes them as text', async () => {
  const environment = {
    ...{ NODE_OPTIONS: '--import=evil', PATH: '/evil', LEASEHOLD_EVIL: 'x', AWS_REGION: ['x'] },
    AWS_ACCESS_KEY_ID: "'; touch evil; '",
    LEASEHOLD_DONE_EVENTS: '*',
    LEASEHOLD_QUEUE_URL: 'http://127.0.0.1:9/q',
  };
  writeState(JSON.stringify({ ...local, environment }));
  const { stdout } = await runInProcess(['dev', '--env'], { directory: folder });
  expect(stdout.trim().split('\n')).toEqual([
    `AWS_ACCESS_KEY_ID=''\\''; touch evil; '\\'''`,
    "LEASEHOLD_DONE_EVENTS='*'",
    'LEASEHOLD_QUEUE_URL=http://127.0.0.1:9/q',
  ]);
  expect(findSystem({}, {}, folder).environment).not.toHaveProperty('NODE_OPTIONS');
});
