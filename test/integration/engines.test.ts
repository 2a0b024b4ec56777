import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetItemCommand, ListTablesCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import {
  chooseEngine,
  type DynamoDbEngine,
  type DynamoDbEngineOptions,
  startDynamoDb,
} from '../../lib/tools/dev/engines/dynamodb-engine.ts';
import { isFreePort } from '../../lib/tools/dev/engines/free-port.ts';
import { majorVersion } from '../../lib/tools/dev/engines/java.ts';
import { createTable } from '../support/create-table.ts';
import { isDeep } from '../support/depth.ts';
import { anyEngine, describeOnOneEngine, dynamoDbClient } from '../support/engines.ts';
import { isAlive } from '../support/is-alive.ts';

const accepts = (host: string, port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect({ host, port, timeout: 2_000 });
    const answer = (accepted: boolean) => () => {
      socket.destroy();
      resolve(accepted);
    };
    socket.once('connect', answer(true)).once('error', answer(false)).once('timeout', answer(false));
  });

const outsideAddress = () =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find((address) => address.family === 'IPv4' && !address.internal)?.address;

describeOnOneEngine('a DynamoDB engine', (shared) => {
  const withEngine = async (
    options: Omit<DynamoDbEngineOptions, 'engine'>,
    use: (engine: DynamoDbEngine) => Promise<void>,
  ) => {
    const engine = await startDynamoDb({ engine: shared.engine, ...options });
    try {
      await use(engine);
    } finally {
      await engine.stop();
    }
  };

  it('listens where it says', async () => {
    expect(await accepts('127.0.0.1', shared.port)).toBe(true);
    const outside = outsideAddress();
    if (outside !== undefined) expect(await accepts(outside, shared.port)).toBe(!shared.boundToLoopback);
  });

  it('answers one access key behind a gate, frees port and process when stopped, and keeps rows in a data folder', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'leasehold-engine-'));
    const Key = { jobId: { S: 'kept' } };
    const options = { dataDir, gate: { accessKeyId: 'LOCALsecret' } };
    const clientOf = (endpoint: string, accessKeyId = 'LOCALsecret') =>
      dynamoDbClient(endpoint, { credentials: { accessKeyId, secretAccessKey: 'x' } });
    let stopped: DynamoDbEngine | undefined;
    try {
      await withEngine(options, async (engine) => {
        const client = clientOf(engine.endpoint);
        expect((await client.send(new ListTablesCommand({}))).TableNames).toEqual([]);
        const stranger = clientOf(engine.endpoint, 'local');
        await expect(stranger.send(new ListTablesCommand({}))).rejects.toMatchObject({
          name: 'UnrecognizedClientException',
        });
        await client.send(createTable('jobs'));
        await client.send(new PutItemCommand({ TableName: 'jobs', Item: Key }));
        // The clients stay open: a kept connection must not hold the engine up.
        stopped = engine;
      });
      expect(await isFreePort(stopped?.port ?? 0)).toBe(true);
      expect(isAlive(stopped?.pid ?? 0)).toBe(false);
      await withEngine(options, async (engine) => {
        const client = clientOf(engine.endpoint);
        expect((await client.send(new GetItemCommand({ TableName: 'jobs', Key }))).Item).toEqual(Key);
        client.destroy();
      });
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  const ends = isDeep ? ['SIGKILL', 'SIGTERM', 'SIGINT', 'exit'] : ['SIGKILL', 'exit'];
  it.each(ends)('does not outlive its host process that ends by %s', async (end) => {
    const module = new URL('../../lib/tools/dev/engines/dynamodb-engine.ts', import.meta.url).href;
    const script = `const { startDynamoDb } = await import('${module}');
      const { pid } = await startDynamoDb({ engine: '${shared.engine}' });
      console.log(pid);
      if ('${end}' === 'exit') process.exit(0);
      setInterval(() => {}, 1000);`;
    const host = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [printed] = await once(host.stdout, 'data');
    const pid = Number(printed);
    expect(pid).toBeGreaterThan(0);
    const ended = host.exitCode === null ? once(host, 'exit') : undefined;
    if (end !== 'exit') host.kill(end as NodeJS.Signals);
    await ended;
    try {
      await expect.poll(() => isAlive(pid)).toBe(false);
    } finally {
      if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    }
  });

  it('refuses a port that is taken instead of passing off another engine as its own', async () => {
    await expect(startDynamoDb({ engine: shared.engine, port: shared.port })).rejects.toMatchObject({
      code: 'ENGINE_FAILED',
      message: expect.stringContaining(`Port ${shared.port}`),
    });
  });
});

/** The loopback of macOS: 127.0.0.1 and a link-local address. */
const asOnMac = (script: string) =>
  spawnSync(
    'unshare',
    [
      ...['--net', 'sh', '-c'],
      `ip link set lo up && ip addr del 127.0.0.1/8 dev lo && ip addr add 127.0.0.1/32 dev lo &&
      ip -6 addr add fe80::1/64 dev lo && exec "$0" --input-type=module -e "$1"`,
      ...[process.execPath, script],
    ],
    { encoding: 'utf8' },
  );

describe.skipIf(asOnMac('').status !== 0 || anyEngine().engine !== 'dynoxide')('dynoxide on macOS', () => {
  it('listens behind its gate where no URL reaches it', () => {
    const module = new URL('../../lib/tools/dev/engines/dynamodb-engine.ts', import.meta.url).href;
    const { stdout, stderr } = asOnMac(`
      import { readFileSync } from 'node:fs';
      const { startDynamoDb } = await import('${module}');
      const engine = await startDynamoDb({ engine: 'dynoxide', gate: { accessKeyId: 'LOCALsecret' } });
      const [, , host, , port] = readFileSync('/proc/' + engine.pid + '/cmdline', 'utf8').split('\\0');
      const tables = (authorization) =>
        fetch(engine.endpoint, { method: 'POST', body: '{}', headers: {
          'content-type': 'application/x-amz-json-1.0', 'x-amz-date': '20240101T000000Z',
          'x-amz-target': 'DynamoDB_20120810.ListTables', authorization } }).then((reply) => reply.status);
      const signed = (key) => 'AWS4-HMAC-SHA256 Credential=' + key + '/20240101/local/dynamodb/aws4_request, SignedHeaders=host, Signature=0';
      const direct = await fetch('http://127.0.0.1:' + port).then(() => 'answered', (error) => error.cause.code);
      console.log(JSON.stringify({ host, url: URL.canParse('http://' + host + ':' + port), direct,
        known: await tables(signed('LOCALsecret')), unknown: await tables(signed('local')) }));
      await engine.stop();`);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual({
      ...{ host: expect.stringMatching(/^\[fe80::1%\d+\]$/), url: false, direct: 'ECONNREFUSED' },
      ...{ known: 200, unknown: 403 },
    });
  });
});

describe('choosing a DynamoDB engine', () => {
  it('says for each engine why it cannot run, and what to install, when none can', async () => {
    const engines = [
      { engine: 'dynoxide', available: false, reason: 'no package', missing: '@dynoxide/darwin-x64' },
      { engine: 'dynamodb-local', available: false, reason: 'no java' },
    ] as const;
    const message =
      /dynoxide: no package; dynamodb-local: no java\)\. .*--save-optional @dynoxide\/darwin-x64\. Or install Java 17/;
    await expect(chooseEngine(Promise.resolve(engines))).rejects.toMatchObject({
      code: 'ENGINE_UNAVAILABLE',
      message: expect.stringMatching(message),
    });
  });

  it.each([
    ['openjdk version "17.0.15" 2025-04-15', 17],
    ['openjdk version "21" 2023-09-19', 21],
    ['java version "1.8.0_292"', 8],
    ['command not understood', undefined],
  ])('reads the version from %j', (printed, version) => {
    expect(majorVersion(printed)).toBe(version);
  });
});
