import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { installCommand } from '../../lib/tools/bundle/package-manager.ts';
import { dynoxidePackage, findDynoxide } from '../../lib/tools/dev/engines/find-package.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-find-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const put = (file: string) => {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), '{}');
  return join(folder, file);
};

describe('dynoxide', () => {
  it.each([
    ['darwin', 'arm64', '@dynoxide/darwin-arm64', 'dynoxide'],
    ['darwin', 'x64', '@dynoxide/darwin-x64', 'dynoxide'],
    ['linux', 'arm64', '@dynoxide/linux-arm64', 'dynoxide'],
    ['linux', 'x64', '@dynoxide/linux-x64', 'dynoxide'],
    ['win32', 'x64', '@dynoxide/win32-x64', 'dynoxide.exe'],
  ])('is found on %s %s, installed alone or by the package dynoxide', (platform, arch, name, file) => {
    const on = { platform, arch };
    expect(dynoxidePackage(on)).toBe(name);
    const project = put(`${name}/alone/package.json`);
    expect(findDynoxide(on, [project])).toBeUndefined();
    const alone = put(`${name}/alone/node_modules/${name}/package.json`);
    expect(findDynoxide(on, [project])).toBe(join(dirname(alone), file));
    const other = put(`${name}/brought/package.json`);
    put(`${name}/brought/node_modules/dynoxide/package.json`);
    // Where pnpm puts it: next to what needs it, out of the project's sight.
    const brought = put(`${name}/brought/node_modules/dynoxide/node_modules/${name}/package.json`);
    expect(findDynoxide(on, [other])).toBe(join(dirname(brought), file));
  });
});

describe('the line that installs packages', () => {
  const packages = { dev: ['esbuild'], optional: ['@dynoxide/linux-x64'] };

  it.each([
    [
      'package-lock.json',
      'npm install --save-dev esbuild && npm install --save-optional @dynoxide/linux-x64',
    ],
    ['pnpm-lock.yaml', 'pnpm add --save-dev esbuild && pnpm add --save-optional @dynoxide/linux-x64'],
    ['yarn.lock', 'yarn add --dev esbuild && yarn add --optional @dynoxide/linux-x64'],
    ['bun.lock', 'bun add --dev esbuild && bun add --optional @dynoxide/linux-x64'],
  ])('is that of the package manager whose %s is nearest', (lock, command) => {
    const below = dirname(put(`${lock}/packages/jobs/package.json`));
    put(`${lock}/${lock}`);
    expect(installCommand(packages, below, 'npm/11.0.0 node/v24.0.0')).toBe(command);
  });
});
