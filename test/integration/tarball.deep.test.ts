import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FreshProject, freshProject, packTarball } from '../support/tarball.ts';

const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'leasehold-tarball-'));
let tarball: string;
beforeAll(() => {
  tarball = packTarball(folder);
}, 180_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MINUTES = { timeout: 300_000 };
const MOST_MEGABYTES = 60;
const MOST_MEGABYTES_PACKED = 2.5;
const MOST_PACKAGES = 60;

const job = `
const greet = defineJob({
  type: 'greet',
  payload: z.object({ name: z.string() }),
  async run({ payload }, { save }) {
    if (payload.name === '') throw new NonRetryableError('no name');
    await save({ at: 1 });
    return { said: payload.name };
  },
});
`;
const run = `
const tested = testJob(greet, { name: 'Ada' });
const first = await tested.run({ fault: 'hostDies', after: 1 });
const done = await tested.finish();
const refused = await testJob(greet, { name: '' }).finish();
console.log(JSON.stringify([first, done.status, refused.status, refused.attempt]));
`;
const asExpected = ['crashed', 'done', 'failed', 1];
const lastLine = (said: string): unknown => JSON.parse(said.trim().split('\n').at(-1) ?? '');

/** npm installs it in the tests below. */
describe('the tarball, installed by pnpm into an empty folder', () => {
  const install = (project: FreshProject, ...packages: readonly string[]) =>
    void project.run('npx', '--yes', 'pnpm@10', 'add', ...packages);

  it('runs a job as ES modules', MINUTES, () => {
    const project = freshProject('module');
    install(project, tarball, 'zod@4');
    project.write(
      'use.mjs',
      `import { defineJob, NonRetryableError } from 'leasehold';
       import { testJob } from 'leasehold/testing';
       import * as z from 'zod';
       ${job} ${run}`,
    );
    expect(lastLine(project.run('node', 'use.mjs'))).toEqual(asExpected);
    project.remove();
  });
});

it.each(['module', 'commonjs'] as const)(
  'traces with the newest OpenTelemetry that a %s project has, and without one runs as before',
  MINUTES,
  (type) => {
    const project = freshProject(type);
    project.run('npm', 'install', tarball);
    const load = (name: string, from: string) =>
      type === 'module' ? `import { ${name} } from '${from}';` : `const { ${name} } = require('${from}');`;
    const use = `${load('defineJob', 'leasehold')} ${load('testJob', 'leasehold/testing')}
      const greet = defineJob({ type: 'greet', run: () => ({ said: 'hello' }) });
      testJob(greet, {}).finish().then(({ status }) =>
        console.log(JSON.stringify([status, spans().map(({ name }) => name)])));`;
    project.write('plain.js', `const spans = () => []; ${use}`);
    expect(lastLine(project.run('node', 'plain.js'))).toEqual(['done', []]);
    expect(existsSync(join(project.folder, 'node_modules', '@opentelemetry'))).toBe(false);
    const names = ['api@1.10.0', 'sdk-trace@3.1.1', 'context-async-hooks@3.1.1'];
    project.run('npm', 'install', ...names.map((name) => `@opentelemetry/${name}`));
    project.write(
      'traced.js',
      `${load('context, trace', '@opentelemetry/api')}
       ${load('InMemorySpanExporter, SimpleSpanProcessor, TracerProvider', '@opentelemetry/sdk-trace')}
       ${load('AsyncLocalStorageContextManager', '@opentelemetry/context-async-hooks')}
       const exporter = new InMemorySpanExporter();
       trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
       context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
       const spans = () => exporter.getFinishedSpans(); ${use}`,
    );
    expect(lastLine(project.run('node', 'traced.js'))).toEqual([
      'done',
      ['claim greet', 'run greet', 'end greet'],
    ]);
    project.remove();
  },
);

it('is small, and brings no Node of its own', MINUTES, () => {
  const project = freshProject('module');
  project.run('npm', 'install', tarball);
  expect(existsSync(join(project.folder, 'node_modules', '.bin', 'node'))).toBe(false);
  const packages = project.run('npm', 'ls', '--all', '--parseable').trim().split('\n').slice(1);
  expect(new Set(packages).size).toBeLessThanOrEqual(MOST_PACKAGES);
  const megabytes = Number(project.run('du', '-sm', 'node_modules').split('\t')[0]);
  expect(megabytes).toBeLessThanOrEqual(MOST_MEGABYTES);
  const packedMegabytes = statSync(tarball).size / 1e6;
  console.log(
    `${megabytes} MB in ${new Set(packages).size} packages, from a tarball of ${packedMegabytes.toFixed(2)} MB`,
  );
  expect(packedMegabytes).toBeLessThanOrEqual(MOST_MEGABYTES_PACKED);
  expect(readdirSync(join(project.folder, 'node_modules', 'leasehold'))).not.toContain('tools');
  project.remove();
});

describe('the README’s first minutes, with the tarball', () => {
  const project = freshProject('module');
  afterAll(() => project.remove());
  const inMade = (command: string) => project.run('sh', '-c', `cd my-jobs && ${command}`);

  it('make a project that passes its own test, check and synth', { timeout: 600_000 }, () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const [, start = ''] = /## Start\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(readme) ?? [];
    const commands = start
      .trim()
      .split('\n')
      .map((line) => line.replace(/ +#.*/, ''));
    expect(commands).toEqual([
      'npx leasehold init my-jobs',
      'cd my-jobs',
      'npm install',
      'npm test',
      'npm run dev',
    ]);
    project.run('npm', 'install', tarball);
    project.run('npx', 'leasehold', 'init', 'my-jobs', '--leasehold', `file:${tarball}`);
    inMade('npm install');
    expect(inMade('npm test')).toMatch(/pass 1/);
    inMade('npm run check && npm run synth');
    expect(readdirSync(join(project.folder, 'my-jobs', 'cdk.out'))).toContain('MyJobs.template.json');
  });

  it('run its job, through a killed worker, to its end', MINUTES, async () => {
    const began = performance.now();
    const dev = project.start('sh', '-c', 'cd my-jobs && exec npm run dev');
    const hears = (words: RegExp) => expect.poll(dev.said, { timeout: 120_000, interval: 50 }).toMatch(words);
    try {
      await hears(/npx leasehold send count/);
      inMade(`npx leasehold send count '{"to":8}' --job-id mine`);
      await hears(/mine count #1 +counted +at=3/);
      const { workers } = JSON.parse(inMade('npx leasehold stats --workers --json')) as {
        readonly workers: readonly { readonly worker: string }[];
      };
      const [, pid = ''] = /-(\d+)-/.exec(workers[0]?.worker ?? '') ?? [];
      process.kill(Number(pid), 'SIGKILL');
      await hears(/mine count #1 +reclaimed/);
      await hears(/mine count #2 +done after/);
      console.log(
        `from \`npm run dev\` to the killed job's end: ${Math.round((performance.now() - began) / 1000)} s`,
      );
      expect(inMade('npx leasehold show mine')).toMatch(/its lease lapsed; the reaper reclaimed the job/);
    } finally {
      await dev.stop();
    }
  });
});

describe('native packages, real ones', () => {
  const project = freshProject('module');
  afterAll(() => project.remove());
  const synth = (props: string) => {
    project.write(
      'app.ts',
      `import { App, Stack } from 'aws-cdk-lib';
       import { Architecture } from 'aws-cdk-lib/aws-lambda';
       import { LeaseholdJobs } from 'leasehold/cdk';
       void Architecture;
       new LeaseholdJobs(new Stack(new App(), 'Pictures'), 'Jobs', { jobs: 'jobs.ts', ${props} });`,
    );
    rmSync(join(project.folder, 'cdk.out'), { recursive: true, force: true });
    project.run('npx', 'cdk', 'synth', '--quiet', '--app', 'node app.ts');
    return globSync(join(project.folder, 'cdk.out/asset.*/cell.mjs'))[0] ?? '';
  };

  it('are named at synth, and installed next to the bundle for the function’s processor', MINUTES, () => {
    project.run(
      ...(['npm', 'install', tarball, 'zod@4', 'sharp', 'better-sqlite3', 'esbuild', 'fauxqs'] as const),
      ...['aws-cdk@2.1147.0', 'aws-cdk-lib@2.276.0', 'constructs@10', '@dynoxide/linux-x64'],
    );
    project.write(
      'jobs.ts',
      `import Database from 'better-sqlite3';
       import { createRegistry, defineJob } from 'leasehold';
       import sharp from 'sharp';
       import * as z from 'zod';
       import { Shade } from './shade';
       const draw = defineJob({
         type: 'draw',
         payload: z.object({ width: z.int() }),
         async run({ payload: { width } }) {
           const create = { width, height: 2, channels: 3, background: Shade.Red } as const;
           const { length } = await sharp({ create }).png().toBuffer();
           return new Database(':memory:').prepare('select ? > 0 as drawn').get(length);
         },
       });
       export const registry = createRegistry([draw]);`,
    );
    // Neither enums nor imports without extensions run in Node alone.
    project.write('shade.ts', `export enum Shade { Red = 'red' }`);
    expect(() => synth('')).toThrow(/native code cannot be bundled: better-sqlite3, sharp\./);
    const nodeModules = `bundling: { nodeModules: ['sharp', 'better-sqlite3'] }`;
    const arm = synth(nodeModules);
    expect(readdirSync(join(dirname(arm), 'node_modules', '@img'))).toContain('sharp-linux-arm64');
    const here = synth(`${nodeModules}, workerFunctionProps: { architecture: Architecture.X86_64 }`);
    project.write('load.mjs', `await (await import(process.argv[2])).importJobs();`);
    // Outside of the project, where only its own packages can be found.
    cpSync(dirname(here), join(folder, 'deployed'), { recursive: true });
    project.run('node', 'load.mjs', join(folder, 'deployed', 'cell.mjs'));
  });

  const leasehold = (...args: readonly string[]) => project.start('node_modules/.bin/leasehold', ...args);
  const hears = (started: { said(): string }, words: RegExp) =>
    expect.poll(started.said, { timeout: 120_000, interval: 50 }).toMatch(words);
  const draw = (jobId: string) =>
    project.run('npx', 'leasehold', 'send', 'draw', '{"width":3}', '--job-id', jobId);

  const rowOf = (jobId: string) => project.run('npx', 'leasehold', 'show', jobId, '--row');

  it('run in work, without an option', MINUTES, async () => {
    const dev = leasehold('dev', '--workers', '0');
    try {
      await hears(dev, /Ctrl-C stops/);
      const variables = 'set -a; eval "$(npx leasehold dev --env)"; set +a';
      const work = project.start('sh', '-c', `${variables}; exec node_modules/.bin/leasehold work jobs.ts`);
      draw('worked');
      await expect.poll(() => rowOf('worked'), { timeout: 120_000, interval: 500 }).toMatch(/"drawn": ?1/);
      expect(await work.stop()).toEqual([0, null]);
    } finally {
      await dev.stop();
    }
  });
});

describe('an app of `cdk init`', () => {
  const project = freshProject('commonjs');
  afterAll(() => project.remove());
  const inApp = (command: string) => project.run('sh', '-c', `cd shop && ${command}`);

  it('has jobs after one construct: Jest tests a handler and the template, and synth works', {
    timeout: 900_000,
  }, () => {
    project.run(
      'sh',
      '-c',
      'mkdir shop && cd shop && npx --yes aws-cdk@2.1147.0 init app --language typescript --generate-only',
    );
    inApp(`npm install && npm install ${tarball} zod@4 && npm install --save-dev esbuild`);
    const manifest = JSON.parse(inApp('cat package.json'));
    console.log(
      'cdk init:',
      JSON.stringify({ ...manifest.dependencies, ...manifest.devDependencies, leasehold: 'tarball' }),
    );
    project.write(
      'shop/lib/jobs.ts',
      `import { createRegistry, defineJob, NonRetryableError } from 'leasehold';
       import * as z from 'zod';
       export ${job.trimStart()}
       export const registry = createRegistry([greet]);`,
    );
    project.write(
      'shop/lib/shop-stack.ts',
      `import * as cdk from 'aws-cdk-lib';
       import { LeaseholdJobs } from 'leasehold/cdk';
       export class ShopStack extends cdk.Stack {
         constructor(scope: cdk.App, id: string, props?: cdk.StackProps) {
           super(scope, id, props);
           new LeaseholdJobs(this, 'Jobs', { jobs: 'lib/jobs.ts' });
         }
       }`,
    );
    project.write(
      'shop/test/shop.test.ts',
      `import * as cdk from 'aws-cdk-lib';
       import { Template } from 'aws-cdk-lib/assertions';
       import { testJob } from 'leasehold/testing';
       import { greet } from '../lib/jobs';
       import { ShopStack } from '../lib/shop-stack';
       test('the handler survives its host', async () => {
         const job = testJob(greet, { name: 'Ada' });
         expect(await job.run({ fault: 'hostDies', after: 1 })).toBe('crashed');
         expect((await job.finish()).status).toBe('done');
       });
       test('a job that must not be retried is not', async () => {
         expect(await testJob(greet, { name: '' }).finish()).toMatchObject({ status: 'failed', attempt: 1 });
       });
       test('the stack has three functions', () => {
         const app = new cdk.App({ context: { 'aws:cdk:bundling-stacks': [] } });
         Template.fromStack(new ShopStack(app, 'Shop')).resourceCountIs('AWS::Lambda::Function', 3);
       });`,
    );
    expect(inApp('npx jest 2>&1')).toMatch(/Tests: +3 passed/);
    inApp('npx cdk synth --quiet');
    expect(readdirSync(join(project.folder, 'shop', 'cdk.out'))).toContain('ShopStack.template.json');
  });
});

it('has complete types, with skipLibCheck off, for every way to resolve them', MINUTES, () => {
  const project = freshProject('commonjs');
  project.run(
    'npm',
    'install',
    tarball,
    'typescript@5.9',
    '@types/node@24',
    'aws-cdk-lib@2.276.0',
    'constructs@10',
  );
  const parts = ['', '/producer', '/client', '/testing', '/cdk', '/worker', '/local'];
  project.write(
    'use.ts',
    `${parts.map((part, i) => `import * as p${i} from 'leasehold${part}'; void p${i};`).join('\n')}
     import { createRegistry, defineJob, type Schema } from 'leasehold';
     import { createClient } from 'leasehold/client';
     import { startLocalStack } from 'leasehold/local';
     import { createProducer } from 'leasehold/producer';
     import { crashEverywhere, testJob } from 'leasehold/testing';
     import { createWorkerHandler, startWorker } from 'leasehold/worker';
     declare const name: Schema<{ name: string }>;
     export const greet = defineJob({ type: 'greet', payload: name, run: ({ payload }) => ({ said: payload.name }) });
     export const registry = createRegistry([greet]);
     export const handlers = [createWorkerHandler(registry)];
     export const worker = startWorker({ jobs: 'jobs.ts' });
     export const client = createClient({ registry, table: 'jobs' });
     export const producer = createProducer({ registry, queue: 'https://example.com' });
     export const sent = client.send('greet', { name: 'Ada' });
     export const said: Promise<{ said: string }> = sent.then((each) => client.waitFor(each));
     export const found = [client.get('a'), client.list(), client.stats(), client.enqueueItems('greet', { name: '' })];
     export const tested = testJob(greet, { name: 'Ada' });
     export const crashed = crashEverywhere({ world: () => ({}), job: () => greet, payload: { name: 'Ada' }, check: () => {} });
     export const stack = startLocalStack({ jobs: 'jobs.ts' });`,
  );
  for (const [module, moduleResolution] of [
    ['commonjs', 'node10'],
    ['node16', 'node16'],
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ] as const)
    project.run(
      ...(['npx', 'tsc', '--noEmit', '--strict', '--skipLibCheck', 'false', '--target', 'es2021'] as const),
      ...['--module', module, '--moduleResolution', moduleResolution, '--types', 'node'],
      // As libraries and `cdk init` have it: whatever an export is inferred as must have a name outside of this package.
      ...['--declaration', 'use.ts'],
    );
  project.remove();
});

it('has types and an exports map that publint and attw find nothing wrong with', MINUTES, () => {
  const tool = (...args: readonly string[]) =>
    execFileSync('npx', [...args], { cwd: root, encoding: 'utf8', stdio: 'pipe' });
  expect(tool('publint', tarball)).toContain('All good!');
  expect(tool('attw', tarball)).toContain('No problems found');
});
