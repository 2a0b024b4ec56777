import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

interface Entry {
  readonly types: string;
  readonly default: string;
}

interface Manifest {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<'import' | 'require', Entry>>>>;
  readonly scripts: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, '..', '..');
// Below the project, so that what is built finds its dependencies.
const out = join(root, '.cache', `package-${process.pid}`);
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
const built = (path: string) => path.replace('./dist', out);

describe('the published package', () => {
  beforeAll(() => {
    execFileSync(process.execPath, [join(root, 'bin', 'build.ts'), out], { stdio: 'pipe' });
  });
  afterAll(() => rmSync(out, { recursive: true, force: true }));

  const entries = Object.entries(manifest.exports).flatMap(([name, entry]) =>
    typeof entry === 'string'
      ? []
      : (['import', 'require'] as const).map((how) => [name, how, entry[how]] as const),
  );

  it.each(entries)('brings code and types for %s by %s', async (_name, _how, { types, default: code }) => {
    expect(existsSync(built(types))).toBe(true);
    const module = (await import(pathToFileURL(built(code)).href)) as object;
    expect(Object.keys(module).length).toBeGreaterThan(0);
  });

  it('brings every function as a bundle, so that users need no bundler for them', () => {
    for (const name of ['worker', 'reaper', 'dead-letter'])
      expect(existsSync(join(out, 'functions', name, 'index.mjs')), name).toBe(true);
  });

  it('runs its command without reading TypeScript', () => {
    const printed = execFileSync(process.execPath, [built(manifest.bin.leasehold ?? ''), '--version'], {
      encoding: 'utf8',
    });
    expect(printed.trim()).toBe(manifest.version);
  });

  it('keeps to a dozen scripts that a contributor would call', () => {
    expect(Object.keys(manifest.scripts).filter((name) => name !== 'prepack').length).toBeLessThanOrEqual(12);
  });
});
