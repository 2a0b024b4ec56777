import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');

it.each(['lib/index.ts', 'bin/leasehold.ts'])('%s names the required Node in one sentence', (file) => {
  const pretend = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.19.0'})`;
  const { status, stderr } = spawnSync(process.execPath, ['--import', pretend, join(root, file)], {
    encoding: 'utf8',
  });
  expect(status).not.toBe(0);
  expect(stderr).toContain(
    'leasehold needs Node 22.18 or newer, and this is Node 20.19.0. Install a newer one from https://nodejs.org',
  );
});
