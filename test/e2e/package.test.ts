import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isDeep } from '../support/depth.ts';
import { freshProject, packTarball } from '../support/tarball.ts';

interface Entry {
  readonly types: string;
  readonly default: string;
}

interface Manifest {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<'import' | 'require', Entry>>>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, '..', '..');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;

/**
 * The tarball in a project of somebody else's, outside the repository. It finds what it declares as dependencies, and the CDK;
 * what it imports besides is not there. `npm run test:deep` installs it with npm and pnpm.
 */
describe('the tarball', () => {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-package-'));
  const project = freshProject('commonjs');
  const modules = join(project.folder, 'node_modules');
  const installed = join(modules, 'leasehold');
  beforeAll(() => {
    const tarball = packTarball(folder);
    mkdirSync(installed, { recursive: true });
    execFileSync('tar', ['xzf', tarball, '-C', installed, '--strip-components=1']);
    for (const name of [...Object.keys(manifest.dependencies), 'aws-cdk-lib', 'constructs', 'zod']) {
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(join(root, 'node_modules', name), join(modules, name));
    }
  });
  afterAll(() => {
    project.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const entries = Object.entries(manifest.exports).flatMap(([name, entry]) =>
    typeof entry === 'string' ? [] : [{ name: name.replace('.', 'leasehold'), entry }],
  );

  it('brings code and types for each of its entries', () => {
    for (const { entry } of entries)
      for (const { types, default: code } of [entry.import, entry.require])
        for (const file of [types, code]) expect(existsSync(join(installed, file)), file).toBe(true);
  });

  it('loads by import and by require, as one copy of each', () => {
    project.write(
      'load.cjs',
      `void (async () => {
         for (const name of ${JSON.stringify(entries.map(({ name }) => name))}) {
           const [required, imported] = [require(name), await import(name)];
           const names = Object.keys(imported).filter((each) => !['default', 'module.exports', '__esModule'].includes(each));
           console.log(name, names.length > 0 && names.every((each) => required[each] === imported[each]));
         }
       })();`,
    );
    const said = project.run(process.execPath, 'load.cjs');
    expect(said.trim().split('\n')).toEqual(entries.map(({ name }) => `${name} true`));
  });

  it.runIf(isDeep)('loads as CommonJS where Node cannot require ES modules, as in Jest', () => {
    project.write(
      'plain.cjs',
      `const { join } = require('node:path');
       for (const file of ${JSON.stringify(entries.map(({ entry }) => entry.require.default))})
         console.log(Object.keys(require(join(${JSON.stringify(installed)}, file))).length > 0);`,
    );
    const said = project.run(process.execPath, '--no-experimental-require-module', 'plain.cjs');
    expect(said.trim().split('\n')).toEqual(entries.map(() => 'true'));
  });

  it('tests a job of one’s own', () => {
    project.write(
      'use.mjs',
      `import { defineJob, NonRetryableError } from 'leasehold';
       import { testJob } from 'leasehold/testing';
       import * as z from 'zod';
       const greet = defineJob({
         type: 'greet',
         payload: z.object({ name: z.string() }),
         async run({ payload }, { save }) {
           if (payload.name === '') throw new NonRetryableError('no name');
           await save({ at: 1 });
           return { said: payload.name };
         },
       });
       const tested = testJob(greet, { name: 'Ada' });
       const ended = [await tested.run({ fault: 'hostDies', after: 1 }), (await tested.finish()).status];
       console.log(...ended, (await testJob(greet, { name: '' }).finish()).status);`,
    );
    expect(project.run(process.execPath, 'use.mjs').trim()).toBe('crashed done failed');
  });

  it('brings every function as a bundle, so that users need no bundler for them', () => {
    for (const name of ['worker', 'reaper', 'dead-letter'])
      expect(existsSync(join(installed, 'dist', 'functions', name, 'index.mjs')), name).toBe(true);
  });

  it.runIf(isDeep)('runs the account rehearsal: its plan, and the synthesis of its stack', () => {
    const command = join(installed, manifest.bin['leasehold-rehearse'] ?? '');
    const args = ['--account', '123456789012', '--region', 'eu-west-1'];
    const plan = spawnSync(process.execPath, [command, ...args], { cwd: project.folder, encoding: 'utf8' });
    expect(plan).toMatchObject({ status: 1, stderr: expect.stringContaining('Nothing was done. To do it:') });
    const context = {
      'rehearsal:account': args[1],
      'rehearsal:region': args[3],
      'aws:cdk:bundling-stacks': [],
    };
    const synthesized = spawnSync(process.execPath, [join(dirname(command), 'app.js')], {
      cwd: project.folder,
      env: {
        ...{ ...process.env, CDK_OUTDIR: 'rehearsal.out', CDK_CONTEXT_JSON: JSON.stringify(context) },
        CDK_VALIDATION: 'false',
      },
      encoding: 'utf8',
    });
    expect(synthesized.stderr).not.toContain('Error');
    const template = join(project.folder, 'rehearsal.out', 'LeaseholdRehearsal.template.json');
    const { Resources, Outputs } = JSON.parse(readFileSync(template, 'utf8'));
    expect(Object.keys(Outputs)).toEqual(expect.arrayContaining(['ProcessQueueUrl', 'WorkerSourceId']));
    const kept = Object.entries<{ DeletionPolicy?: string }>(Resources).filter(
      ([, { DeletionPolicy }]) => DeletionPolicy !== undefined && DeletionPolicy !== 'Delete',
    );
    expect(kept).toEqual([]);
  });

  it('says nothing of the machine that built it, not even in its source maps', () => {
    const maps = globSync(join(installed, '**/*.map'));
    expect(maps.length).toBeGreaterThan(3);
    for (const map of maps) {
      const { sources } = JSON.parse(readFileSync(map, 'utf8')) as { readonly sources: readonly string[] };
      expect(sources.filter((source) => !/^(lib|functions|examples|node_modules)\//.test(source))).toEqual(
        [],
      );
    }
    const files = globSync(join(installed, '**/*.{js,mjs,ts,map,json}'));
    expect(files.filter((file) => readFileSync(file, 'utf8').includes(root))).toEqual([]);
  });

  it('runs its command without reading TypeScript', () => {
    const command = join(installed, manifest.bin.leasehold ?? '');
    expect(project.run(process.execPath, command, '--version').trim()).toBe(manifest.version);
    project.run(process.execPath, command, 'init', 'mine');
    expect(existsSync(join(project.folder, 'mine', 'src', 'jobs.ts'))).toBe(true);
  });
});

it('keeps to a dozen scripts that a contributor would call', () => {
  expect(Object.keys(manifest.scripts).filter((name) => name !== 'prepack').length).toBeLessThanOrEqual(12);
});
