import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { projectRoot } from './support.ts';

const program = join(projectRoot, 'lib', 'tools', 'bundle', 'bundle-function.ts');
const noJobs = join(projectRoot, 'test', 'support', 'no-jobs.ts');

/** What CDK makes the hash of the worker's code from, where it is bundled into this folder. */
async function bundledInto(folder: string): Promise<Readonly<Record<string, string>>> {
  await promisify(execFile)(process.execPath, [program, folder, 'worker', noJobs], { cwd: tmpdir() });
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
}

it('gives the same code the same hash, wherever the app is synthesized to', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-hashes-'));
  const places = ['a', 'b/much/deeper', 'c/d'].map((place) => join(folder, place));
  const [first, ...others] = await Promise.all(places.map(bundledInto));
  rmSync(folder, { recursive: true });
  expect(Object.keys(first ?? {})).toHaveLength(4);
  for (const other of others) expect(other).toEqual(first);
});
