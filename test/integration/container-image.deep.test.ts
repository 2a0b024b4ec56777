import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { freePort } from '../../lib/tools/dev/engines/free-port.ts';
import { childrenOf } from '../../lib/tools/dev/process-children.ts';
import { freshProject, packTarball } from '../support/tarball.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-image-'));
const project = freshProject('module');
afterAll(() => {
  project.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** A process namespace, in which the command is process 1 as in a container. */
const NAMESPACE = ['--pid', '--fork', '--mount-proc', '--kill-child'];
const canUnshare = spawnSync('unshare', [...NAMESPACE, 'true']).status === 0;

/** Takes the steps of a Dockerfile in a folder of this machine; returns its command. */
function follow(dockerfile: string, source: string, image: string): readonly string[] {
  for (const line of dockerfile.split('\n')) {
    const [, instruction, rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (instruction === 'COPY') {
      const [from, to = ''] = rest.split(' ');
      execFileSync('sh', ['-c', `cp -r ${from} ${join(image, to)}`], { cwd: source });
    } else if (instruction === 'RUN') project.run('sh', '-c', `cd ${image} && ${rest}`);
    else if (instruction === 'CMD') return JSON.parse(rest) as string[];
  }
  throw new Error('the Dockerfile has no command');
}

/** Nothing of this machine but what an image has. */
const environment = (variables: Readonly<Record<string, string>>) => ({
  PATH: [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter),
  HOME: folder,
  ...variables,
});

it.skipIf(!canUnshare)(
  'the image that init writes releases its job on SIGTERM as process 1, and the next one finishes it',
  { timeout: 900_000 },
  async () => {
    const tarball = packTarball(folder);
    project.run('npm', 'install', tarball);
    project.run('npx', 'leasehold', 'init', 'my-jobs', '--fargate', '--leasehold', `file:${tarball}`);
    const inMade = (command: string) => project.run('sh', '-c', `cd my-jobs && ${command}`);
    inMade('npm install');
    const made = join(project.folder, 'my-jobs');
    const image = mkdtempSync(join(folder, 'image-'));
    const command = follow(readFileSync(join(made, 'Dockerfile'), 'utf8'), made, image);
    expect(inMade('cat package.json')).toContain('"esbuild"');
    expect(spawnSync('ls', [join(image, 'node_modules', 'esbuild')]).status).not.toBe(0);

    const dev = project.start('sh', '-c', 'cd my-jobs && exec npm run dev -- --workers 0');
    const containers: ReturnType<typeof spawn>[] = [];
    try {
      await expect.poll(dev.said, { timeout: 120_000 }).toMatch(/Ctrl-C stops/);
      const healthPort = await freePort();
      const variables = environment({
        ...JSON.parse(inMade('npx leasehold dev --env --json')),
        LEASEHOLD_POOL: 'heavy',
        LEASEHOLD_HEALTH_PORT: String(healthPort),
        LEASEHOLD_SHUTDOWN_GRACE_MS: '1000',
      });
      const start = () => {
        const container = spawn('unshare', [...NAMESPACE, ...command], { cwd: image, env: variables });
        containers.push(container);
        return { pid: container.pid ?? 0, ended: once(container, 'exit') };
      };
      const row = () => JSON.parse(inMade('npx leasehold show mine --row --json'));
      const ROW = { timeout: 120_000, interval: 500 };

      const first = start();
      inMade(`npx leasehold send count '{"to":20}' --job-id mine`);
      await expect.poll(() => row().checkpointSeq, ROW).toBeGreaterThanOrEqual(2);
      expect((await fetch(`http://127.0.0.1:${healthPort}`)).status).toBe(200);
      const [processOne = 0] = (await childrenOf([first.pid])).get(first.pid) ?? [];
      expect(readFileSync(`/proc/${processOne}/status`, 'utf8')).toMatch(/^NSpid:\t\d+\t1$/m);
      process.kill(processOne, 'SIGTERM');
      expect(await first.ended).toEqual([0, null]);
      expect(row()).toMatchObject({ status: 'pending', releases: 1, lapses: 0, crashes: 0 });

      const second = start();
      await expect.poll(() => row().status, ROW).toBe('done');
      expect(row()).toMatchObject({ attempt: 2, releases: 1, lapses: 0, crashes: 0, errors: 0 });
      const [last = 0] = (await childrenOf([second.pid])).get(second.pid) ?? [];
      process.kill(last, 'SIGTERM');
      expect(await second.ended).toEqual([0, null]);
    } finally {
      for (const container of containers) container.kill('SIGKILL');
      await dev.stop();
    }
  },
);
