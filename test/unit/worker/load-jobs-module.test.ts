import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JobsModuleError } from '../../../lib/worker/jobs-module-error.ts';
import { loadJobsModule } from '../../../lib/worker/load-jobs-module.ts';

const lib = pathToFileURL(join(import.meta.dirname, '..', '..', '..', 'lib', 'worker', 'registry.ts')).href;
const REGISTRY = `import { createRegistry } from ${JSON.stringify(lib)};
const anything = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } };
const of = (type) => createRegistry([{ type, payload: anything, run() {} }]);
`;

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'leasehold-jobs-module-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const written = (name: string, text: string): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};
const refusal = async (jobs: string | URL): Promise<JobsModuleError> => {
  try {
    await loadJobsModule(jobs);
  } catch (error) {
    expect(error).toBeInstanceOf(JobsModuleError);
    return error as JobsModuleError;
  }
  throw new Error('the module was loaded');
};
const typesIn = async (jobs: string | URL) =>
  (await loadJobsModule(jobs)).definitions.map(({ type }) => type);

describe('the loader of jobs modules', () => {
  it('finds the registry that is named so, by path and by URL', async () => {
    const file = written(
      'named.mjs',
      `${REGISTRY}export const other = of('b'); export const registry = of('a');`,
    );
    expect(await typesIn(file)).toEqual(['a']);
    expect(await typesIn(pathToFileURL(file))).toEqual(['a']);
  });

  it('finds a registry that is the default, or has another name, if it is the only one', async () => {
    expect(await typesIn(written('default.mjs', `${REGISTRY}export default of('a');`))).toEqual(['a']);
    expect(
      await typesIn(written('jobs.mjs', `${REGISTRY}export const jobs = of('a'); export const n = 1;`)),
    ).toEqual(['a']);
    expect(
      await typesIn(
        written('twice.mjs', `${REGISTRY}const r = of('a'); export { r as default, r as jobs };`),
      ),
    ).toEqual(['a']);
  });

  it('finds the registry in the exports of a CommonJS module, made by another copy of the package', async () => {
    const file = written(
      'common.cjs',
      `const registry = { [Symbol.for('leasehold.registry')]: true, definitions: [{ type: 'a' }], find() {} };
       exports.jobs = registry;`,
    );
    expect(await typesIn(file)).toEqual(['a']);
  });

  it('says that the file is not there, and what it should say', async () => {
    const file = join(folder, 'absent.mjs');
    expect((await refusal(file)).message).toBe(
      `jobs module ${file}: there is no such file. Name the file that has: export const registry = createRegistry([...])`,
    );
  });

  it('names what a module without a registry exports instead', async () => {
    expect((await refusal(written('handler.mjs', 'export const handler = () => {};'))).message).toMatch(
      /exports no registry \(it exports handler\)\. Add: export const registry = createRegistry/,
    );
    expect((await refusal(written('empty.mjs', ''))).message).toMatch(/it exports nothing/);
  });

  it('does not choose between two registries', async () => {
    const file = written('two.mjs', `${REGISTRY}export const a = of('a'); export const b = of('b');`);
    expect((await refusal(file)).message).toMatch(
      /exports 2 registries \(a, b\), and none is named 'registry'/,
    );
  });
});
