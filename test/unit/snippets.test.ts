import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Snippet, snippets } from '../support/snippets.ts';

const root = join(import.meta.dirname, '..', '..');
// A package of its own below the repository: `leasehold` means the sources there, as it does in the examples.
const folder = join(root, '.cache', `snippets-${process.pid}`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const REGISTRY = `import { createRegistry, defineJob } from 'leasehold';
import * as z from 'zod';
const job = <Type extends string, Payload extends z.ZodType>(type: Type, payload: Payload) =>
  defineJob({ type, payload, async run() {} });
export const registry = createRegistry([
  job('greet', z.object({ name: z.string() })),
  job('send-invoice', z.object({ order: z.int() })),
  job('send-reminder', z.object({ order: z.int() })),
]);
`;

/** A snippet of a construct is inside a stack's constructor. */
function asModule({ text }: Snippet): string {
  if (!text.includes('(this, ')) return `${text}\nexport {};\n`;
  const isImport = (line: string) => line.startsWith('import ');
  const lines = text.split('\n');
  return [
    ...lines.filter(isImport),
    "import type { Stack } from 'aws-cdk-lib';",
    'export function build(this: Stack) {',
    ...lines.filter((line) => !isImport(line)),
    '}',
  ].join('\n');
}

describe('the snippets of the docs', () => {
  it('compile, as a project of a user’s own would', () => {
    for (const part of ['src', 'test']) mkdirSync(join(folder, part), { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{ "name": "snippets", "private": true, "type": "module" }');
    writeFileSync(join(folder, 'registry.ts'), REGISTRY);
    copyFileSync(join(root, 'test', 'fixtures', 'snippets.d.ts'), join(folder, 'globals.d.ts'));
    const typescript = snippets().filter(({ language }) => language === 'ts');
    expect(typescript.length).toBeGreaterThan(10);
    for (const snippet of typescript) {
      const name = `${snippet.page.replaceAll(/[^a-z]+/gi, '-')}-${snippet.line}.ts`;
      const home = snippet.text.includes("'../src/") ? 'test' : '.';
      writeFileSync(join(folder, home, name), asModule(snippet));
      // The tutorial's test imports the tutorial's module.
      if (snippet.page === 'docs/guides/tutorial.md' && snippet.text.includes('export const registry'))
        writeFileSync(join(folder, 'src', 'jobs.ts'), snippet.text);
    }
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: '../../tsconfig.json',
        compilerOptions: { rootDir: root },
        exclude: [],
        include: ['.'],
      }),
    );
    const tsc = join(
      dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
      'bin',
      'tsc',
    );
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], {
      encoding: 'utf8',
    });
    expect(stdout.replaceAll(folder, '')).toBe('');
  });
});
