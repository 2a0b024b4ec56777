import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** A fenced block of a page for users. */
export interface Snippet {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

/** Every fenced block of the README, the docs and the examples. The reference is written from the sources, which are compiled. */
export const snippets = (): readonly Snippet[] =>
  globSync(['README.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: root })
    .filter((page) => page !== 'docs/reference.md' && !page.startsWith('docs/internals/decisions'))
    .sort()
    .flatMap((page) => {
      const whole = readFileSync(join(root, page), 'utf8');
      return [...whole.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].map(
        ({ index, 1: language = '', 2: text = '' }) => ({
          ...{ page, language, text },
          line: whole.slice(0, index).split('\n').length,
        }),
      );
    });
