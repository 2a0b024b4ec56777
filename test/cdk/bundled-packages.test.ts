import {
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { Architecture, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workerCode } from '../../lib/cdk/bundling.ts';
import type { WorkerBundling } from '../../lib/cdk/index.ts';
import { readJobsModule } from '../../lib/tools/bundle/read-jobs-module.ts';
import { isDeep } from '../support/depth.ts';
import { withoutValidation } from './support.ts';

withoutValidation();

const folder = mkdtempSync(join(tmpdir(), 'leasehold-packages-'));
const put = (file: string, text: string) => {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
};
const READS = `exports.words = require('node:fs').readFileSync(require('node:path').join(__dirname, 'words.txt'), 'utf8');`;

/** A package that reads a file next to itself when it is loaded. */
function putReader(place: string, name: string) {
  put(`${place}/package.json`, JSON.stringify({ name, version: '1.0.0' }));
  put(`${place}/index.js`, READS);
  put(`${place}/words.txt`, 'found');
}

beforeAll(() => {
  putReader('node_modules/reader', 'reader');
  // One of the same workspace, which npm installs without a registry.
  putReader('packages/own-reader', 'own-reader');
  symlinkSync(join(folder, 'packages', 'own-reader'), join(folder, 'node_modules', 'own-reader'));
  put('node_modules/native/index.js', `exports.open = (file) => require(file);`);
  put('node_modules/native/binding.gyp', '{}');
  put('node_modules/wants-more/index.js', `exports.more = () => require('not-installed');`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Synthesizes a function from a jobs module with this top level; tells where its code is. */
function synthesize(top: string, bundling: WorkerBundling = {}) {
  put(
    'jobs.ts',
    `${top}
     import { createRegistry, defineJob } from 'leasehold';
     const any = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } };
     export const registry = createRegistry([defineJob({ type: 'read', payload: any, run: () => null })]);`,
  );
  const app = new App({ analyticsReporting: false });
  const stack = new Stack(app, 'Packages');
  const jobs = join(folder, 'jobs.ts');
  const environment = { TOKEN: 'of the function' };
  new LambdaFunction(stack, 'Worker', {
    code: workerCode(stack, jobs, bundling, environment, Architecture.ARM_64),
    handler: 'index.handler',
    runtime: Runtime.NODEJS_24_X,
  });
  const code = globSync(join(app.synth().directory, 'asset.*'))[0] ?? '';
  return { stack, code, read: () => readJobsModule({ cell: join(code, 'cell.mjs'), jobs }, {}) };
}

describe('the worker of a jobs module', () => {
  const refused = [
    [
      'reads a file next to itself',
      'reader',
      /reader cannot be loaded from the bundle of .*jobs\.ts\. .*nodeModules: \['reader'\].*--node-modules reader[\s\S]*words\.txt/,
    ],
    [
      'has native code, before anything calls it',
      'native',
      /native code .*: native\. .*nodeModules: \['native'\]/,
    ],
    [
      'requires what is not installed',
      'wants-more',
      /if wants-more does without it.*externalModules: \['not-installed'\].*--external not-installed/,
    ],
  ] as const;
  it.each(isDeep ? refused : refused.slice(0, 1))(
    'is refused with a package that %s, with the fix',
    (_, name, message) => {
      expect(() => synthesize(`import * as it from '${name}'; export { it };`)).toThrow(message);
    },
  );

  it('has packages next to it that are not bundled, and files that a command put there, before it is loaded', async () => {
    const afterBundling = (_: string, to: string) => [
      `${process.execPath} -e "fs.copyFileSync('${join(folder, 'node_modules/reader/words.txt')}', '${to}/words.txt')"`,
    ];
    const top = `import 'reader'; import { words } from 'own-reader'; if (words !== 'found') throw 0;`;
    const { code, read } = synthesize(top, { nodeModules: ['own-reader'], commandHooks: { afterBundling } });
    const installed = globSync('node_modules/**', { cwd: code });
    expect(installed).toContain(join('node_modules', 'own-reader', 'words.txt'));
    expect(lstatSync(join(code, 'node_modules', 'own-reader')).isSymbolicLink()).toBe(false);
    expect(existsSync(join(code, 'words.txt'))).toBe(true);
    expect((await read()).types).toMatchObject([{ type: 'read' }]);
  });

  it('sees the variables of the function when it is loaded; what it lacks otherwise is a warning', () => {
    const { stack } = synthesize(`if (process.env.TOKEN === undefined) throw new Error('no token');`);
    Annotations.fromStack(stack).hasNoWarning('*', Match.anyValue());
    const failing = synthesize(`throw new Error('no database');`);
    Annotations.fromStack(failing.stack).hasWarning(
      '*',
      Match.stringLikeRegexp('cannot be loaded on this machine[^]*no database'),
    );
  });
});
