import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { declarations } from '../../../lib/settings/settings.ts';
import * as reasons from '../../../lib/worker/abort-reasons.ts';

const read = (...path: readonly string[]) =>
  readFileSync(join(import.meta.dirname, '..', '..', '..', ...path), 'utf8');

describe('the documentation of handlers', () => {
  it('shows in testing.md the example that is tested', () => {
    const imports = (text: string) => text.split('\n').filter((line) => line.startsWith('import'));
    const body = (text: string) => text.slice(text.indexOf('\n\n'));
    const tested = read('test', 'unit', 'worker-testing-example.test.ts');
    const shown = read('docs', 'guides', 'testing.md').match(/```ts\n([\s\S]*?)```/)?.[1] ?? '';
    expect(body(shown)).toBe(body(tested));
    // There, the package goes by its name.
    const published = imports(tested).map((line) =>
      line
        .replace('../../lib/testing/index.ts', 'leasehold/testing')
        .replace('../../lib/index.ts', 'leasehold'),
    );
    expect(imports(shown).toSorted()).toEqual(published.toSorted());
  });

  it('names every reason for which a signal fires', () => {
    const text = read('docs', 'guides', 'handlers.md');
    for (const name of Object.keys(reasons)) expect(text).toContain(`\`${name}\``);
  });

  it('names only settings that exist', () => {
    const named = [
      ...read('docs', 'guides', 'handlers.md').matchAll(
        /`((?:max|lease|deadline|shutdown|dispatch|progress)[A-Z]\w+)`/g,
      ),
    ].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(8);
    for (const name of named) expect(Object.keys(declarations)).toContain(name);
  });
});
