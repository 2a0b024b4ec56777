import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleJobs } from '../../lib/tools/bundle/bundle-jobs.ts';
import { runnableJobs } from '../../lib/tools/cli/runnable-jobs.ts';
import { JobsModuleError } from '../../lib/worker/jobs-module-error.ts';
import { runProcess } from '../support/cli.ts';
import { startWorkerStack } from '../support/worker-stack.ts';

const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'leasehold-typescript-'));
const jobs = join(folder, 'src', 'jobs.ts');
const put = (file: string, text: string) => {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
};
const link = (target: string, name: string) => {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  symlinkSync(target, join(folder, name), 'dir');
};

beforeAll(() => {
  put('package.json', '{ "private": true }');
  put('tsconfig.json', '{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } } }');
  link(join(root, 'tools', 'source'), 'node_modules/leasehold');
  // A package that finds its own file only if it stays where it is, as native ones do.
  put('node_modules/reader/package.json', '{ "name": "reader", "main": "index.js" }');
  put('node_modules/reader/index.js', `exports.read = () => require('./words.json').words;`);
  put('node_modules/reader/words.json', '{ "words": "of the package" }');
  // One of the same workspace, as TypeScript.
  put('packages/shared/package.json', '{ "name": "shared", "type": "module", "main": "index.ts" }');
  put('packages/shared/index.ts', `export * from './more'; export enum Size { Small = 1 }`);
  put('packages/shared/more.ts', `export const more = 'of the workspace';`);
  link(join(folder, 'packages', 'shared'), 'node_modules/shared');
  put('src/color.ts', `export enum Color { Red = 'red' }`);
  put('src/mail/template.ts', `export const place = [import.meta.dirname, __dirname, import.meta.url];`);
  put('src/mail/query.sql', 'select 1');
  put(
    'src/jobs.ts',
    `import { createRegistry, defineJob } from 'leasehold';
     import { read } from 'reader';
     import { more, Size } from 'shared';
     import { place } from '@/mail/template';
     import query from './mail/query.sql';
     import { Color } from './color';
     export const facts = { color: Color.Red, size: Size.Small, more, words: read(), place, query };
     const any = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const;
     const fail = () => { throw new Error('as asked'); };
     export const registry = createRegistry([
       defineJob({ type: 'tell', payload: any, maxAttempts: 1, run: ({ payload }) => payload === 'fail' ? fail() : facts }),
     ]);`,
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const mail = join(folder, 'src', 'mail');
const facts = {
  ...{ color: 'red', size: 1, more: 'of the workspace', words: 'of the package', query: 'select 1' },
  place: [mail, mail, pathToFileURL(join(mail, 'template.ts')).href],
};

describe('a jobs module as TypeScript that Node does not run', () => {
  it('is bundled with the packages of its workspace; installed ones and all files keep their places', async () => {
    const file = await bundleJobs(jobs, join(folder, 'out'), { loader: { '.sql': 'text' } });
    const program = `import { facts, registry } from ${JSON.stringify(file)};
      import { isRegistry } from ${JSON.stringify(join(root, 'lib/worker/registry.ts'))};
      console.log(JSON.stringify({ facts, isOurs: isRegistry(registry) }));`;
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    expect(JSON.parse(said)).toEqual({ facts, isOurs: true });
  });

  it('that cannot be bundled is refused with its place', async () => {
    put('src/bad.ts', `import './nowhere';`);
    const refused = bundleJobs(join(folder, 'src', 'bad.ts'), join(folder, 'out'));
    await expect(refused).rejects.toThrow(
      /bad\.ts could not be bundled: [\s\S]*Could not resolve "\.\/nowhere"/,
    );
  });

  it('runs in `work`, whose errors name the sources', async () => {
    const stack = await startWorkerStack({ leaseMs: 20_000, cells: 1 });
    const program = join(root, 'bin', 'leasehold.ts');
    const child = spawn(process.execPath, [program, 'work', jobs, '--loader', '.sql=text'], {
      env: {
        ...{ ...process.env, ...stack.environment },
        ...{ AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x', AWS_REGION: 'x' },
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const isOver = (job: { readonly status: string } | undefined) => /done|failed/.test(job?.status ?? '');
    await stack.send('tell', 'all', { jobId: 'told' });
    expect(await stack.until('told', isOver)).toMatchObject({ status: 'done', result: facts });
    await stack.send('tell', 'fail', { jobId: 'failed' });
    const failed = await stack.until('failed', isOver);
    expect(failed).toMatchObject({ status: 'failed', lastError: expect.stringContaining('src/jobs.ts:9') });
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    await stack.close();
  });
});

it('leaves why a module cannot be loaded as the last words of `work`, in the module’s own lines', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-throws-'));
  const file = join(folder, 'jobs.ts');
  const lines = [
    "function connect(): never { throw new Error('DATABASE_URL is not set'); }",
    'export const registry = connect();',
  ];
  writeFileSync(file, lines.join('\n'));
  const stack = await startWorkerStack();
  const { code, stdout, stderr } = await runProcess(['work', file], {
    environment: {
      ...stack.environment,
      AWS_ACCESS_KEY_ID: 'x',
      AWS_SECRET_ACCESS_KEY: 'x',
      AWS_REGION: 'x',
    },
  });
  await stack.close();
  rmSync(folder, { recursive: true });
  expect(code).toBe(2);
  expect(
    stderr
      .slice(stderr.search(/^error: /m))
      .trimEnd()
      .split('\n'),
  ).toEqual([
    `error: jobs module ${file}: it throws while it is loaded; fix this first:`,
    'Error: DATABASE_URL is not set',
    expect.stringMatching(/^ {4}at connect \(.*jobs\.ts:1:\d+\)$/),
    expect.stringMatching(/^ {4}at .*jobs\.ts:2:\d+\)$/),
  ]);
  expect((stdout + stderr).length).toBeLessThan(5_000);
});

describe('without esbuild', () => {
  const bare = () => runnableJobs(jobs, undefined, () => false);

  it('Node runs the module as it is; what it cannot run is told with the fix', async () => {
    const { file, rethrow } = await bare();
    expect(file).toBe(jobs);
    const problem = 'SyntaxError [ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX]: TypeScript enum is not supported';
    expect(() => rethrow(new JobsModuleError(jobs, problem))).toThrow(
      /enum is not supported[\s\S]*With esbuild installed.* Run: \w+ (install|add) esbuild/,
    );
    expect(() => rethrow(new JobsModuleError(jobs, 'it exports no registry'))).toThrow(/no registry$/);
  });

  it('a file that is not there is told at once', async () => {
    await expect(runnableJobs('nowhere.ts', undefined)).rejects.toThrow(/There is no file 'nowhere\.ts'/);
  });
});
