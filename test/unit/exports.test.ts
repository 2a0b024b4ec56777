import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const knip = join(root, 'node_modules', 'knip', 'bin', 'knip.js');

it('exports nothing for tests and benches alone, unless it is marked @internal', async () => {
  const run = promisify(execFile)(process.execPath, [knip, '--production', '--no-progress'], { cwd: root });
  const { stdout } = await run.catch((failed: { readonly stdout: string }) => failed);
  expect(stdout).toBe('');
});
