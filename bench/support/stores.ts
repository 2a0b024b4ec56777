import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../../lib/tools/dev/engines/free-port.ts';
import type { Stores } from '../systems/system.ts';

const run = promisify(execFile);

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

type Started = { readonly url: string; stop(): Promise<void> };
type Skipped = { readonly skipped: string };

/** Redis and PostgreSQL as the peers need them: own instances on loopback, gone when the run ends. */
export function createStores(): Stores & { stop(): Promise<void> } {
  const started = new Map<string, Promise<Started | Skipped>>();
  const once = async (name: string, start: () => Promise<Started | Skipped>) => {
    const first = started.get(name) ?? start();
    started.set(name, first);
    const store = await first;
    return 'skipped' in store ? store : store.url;
  };
  return {
    redis: () => once('redis', startRedis),
    postgres: () => once('postgres', startPostgres),
    async stop() {
      for (const store of await Promise.all(started.values())) if ('stop' in store) await store.stop();
    },
  };
}

async function startRedis(): Promise<Started | Skipped> {
  try {
    await run('redis-server', ['--version']);
  } catch {
    return { skipped: 'redis-server is not installed (Debian: apt-get install redis-server)' };
  }
  const folder = await mkdtemp(join(tmpdir(), 'bench-redis-'));
  const port = await freePort();
  // No persistence: the quickest Redis there is, in the peers' favour.
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const child = spawn('redis-server', [...options, '--dir', folder], { stdio: 'ignore' });
  running.add(child);
  await eventually(() => connects(port), 'Redis');
  return { url: `redis://127.0.0.1:${port}`, stop: () => stopped(child, folder) };
}

async function startPostgres(): Promise<Started | Skipped> {
  const programs = await postgresPrograms();
  if (programs === undefined)
    return { skipped: 'PostgreSQL is not installed (Debian: apt-get install postgresql)' };
  const folder = await mkdtemp(join(tmpdir(), 'bench-postgres-'));
  // PostgreSQL refuses to run as root.
  const user = process.getuid?.() === 0 ? await userNamed('postgres') : undefined;
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const port = await freePort();
  await run(join(programs, 'initdb'), ['-D', data, '-A', 'trust', '-U', 'bench'], { ...user, cwd: folder });
  const options = ['-c', 'listen_addresses=127.0.0.1', '-c', 'max_connections=300', '-k', folder];
  const child = spawn(join(programs, 'postgres'), ['-D', data, '-p', String(port), ...options], {
    ...user,
    cwd: folder,
    stdio: 'ignore',
  });
  running.add(child);
  const isReady = () => run(join(programs, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)]);
  await eventually(isReady, 'PostgreSQL');
  return {
    url: `postgres://bench@127.0.0.1:${port}/postgres`,
    // A fast shutdown: sessions are cut, nothing is waited for.
    stop: () => stopped(child, folder, 'SIGINT'),
  };
}

async function postgresPrograms(): Promise<string | undefined> {
  const versions = await readdir('/usr/lib/postgresql').catch(() => []);
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? undefined : join('/usr/lib/postgresql', newest, 'bin');
}

async function userNamed(name: string): Promise<{ uid: number; gid: number }> {
  const id = async (option: string) => Number((await run('id', [option, name])).stdout);
  return { uid: await id('-u'), gid: await id('-g') };
}

/** Repeats a check that throws while a store is not ready. */
async function eventually(check: () => Promise<unknown>, store: string): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt += 1) {
    try {
      await check();
      return;
    } catch {
      await sleep(50);
    }
  }
  throw new Error(`${store} does not answer after 15 s`);
}

async function connects(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}

async function stopped(
  child: ChildProcess,
  folder: string,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }
  running.delete(child);
  await rm(folder, { recursive: true, force: true });
}
