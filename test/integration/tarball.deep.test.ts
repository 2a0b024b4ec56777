import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
const first = await tested.run({ mishap: 'hostDies', after: 1 });
const done = await tested.finish();
const refused = await testJob(greet, { name: '' }).finish();
console.log(JSON.stringify([first, done.status, refused.status, refused.attempt]));
`;
const asExpected = ['crashed', 'done', 'failed', 1];
const lastLine = (said: string): unknown => JSON.parse(said.trim().split('\n').at(-1) ?? '');

const installers: Readonly<Record<string, (project: FreshProject, ...packages: readonly string[]) => void>> =
  {
    npm: (project, ...packages) => void project.run('npm', 'install', ...packages),
    pnpm: (project, ...packages) => void project.run('npx', '--yes', 'pnpm@10', 'add', ...packages),
  };

describe.each(Object.keys(installers))('the tarball, installed by %s into an empty folder', (installer) => {
  const install = installers[installer] as (project: FreshProject, ...packages: readonly string[]) => void;

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

  it('runs a job as CommonJS, with one copy for import and require', MINUTES, () => {
    const project = freshProject('commonjs');
    install(project, tarball, 'zod@4');
    project.write(
      'use.cjs',
      `const { defineJob, NonRetryableError } = require('leasehold');
       const { testJob } = require('leasehold/testing');
       for (const part of ['worker', 'producer', 'reaper', 'client', 'local']) require('leasehold/' + part);
       const z = require('zod');
       ${job}
       void (async () => {
         if ((await import('leasehold')).defineJob !== defineJob) throw new Error('two copies');
         ${run}
       })();`,
    );
    expect(lastLine(project.run('node', 'use.cjs'))).toEqual(asExpected);
    project.remove();
  });
});

it('is small, and brings no Node of its own', MINUTES, () => {
  const project = freshProject('module');
  project.run('npm', 'install', tarball);
  expect(existsSync(join(project.folder, 'node_modules', '.bin', 'node'))).toBe(false);
  const packages = project.run('npm', 'ls', '--all', '--parseable').trim().split('\n').slice(1);
  expect(new Set(packages).size).toBeLessThanOrEqual(MOST_PACKAGES);
  const megabytes = Number(project.run('du', '-sm', 'node_modules').split('\t')[0]);
  expect(megabytes).toBeLessThanOrEqual(MOST_MEGABYTES);
  expect(readdirSync(join(project.folder, 'node_modules', 'leasehold'))).not.toContain('tools');
  project.remove();
});

it('makes a project that passes its own test and synth', { timeout: 600_000 }, () => {
  const project = freshProject('module');
  project.run('npm', 'install', tarball);
  project.run('npx', 'leasehold', 'init', 'made', '--leasehold', `file:${tarball}`);
  const made = (...args: readonly string[]) => project.run('npm', '--prefix', 'made', ...args);
  made('install');
  expect(made('test')).toMatch(/pass 1/);
  project.run('sh', '-c', 'cd made && npm run check && npm run synth');
  expect(readdirSync(join(project.folder, 'made', 'cdk.out'))).toContain('Made.template.json');
  project.remove();
});

it('has types and an exports map that publint and attw find nothing wrong with', MINUTES, () => {
  const tool = (...args: readonly string[]) =>
    execFileSync('npx', [...args], { cwd: root, encoding: 'utf8', stdio: 'pipe' });
  expect(tool('publint', tarball)).toContain('All good!');
  expect(tool('attw', tarball)).toContain('No problems found');
});
