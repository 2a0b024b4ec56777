import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { filled } from '../../bench/report/markdown.ts';
import type { Results } from '../../bench/report/results.ts';
import { reportOf } from '../../bench/report/write-report.ts';
import { PARTS, wholeRun } from '../../bench/scenarios/parts.ts';

const root = new URL('../../', import.meta.url);
const results = JSON.parse(readFileSync(new URL('bench/results.json', root), 'utf8')) as Results;

describe('the pages that follow from the figures', () => {
  it.each(Object.entries(reportOf(results, root)))('%s has today’s', (file, wanted) => {
    const path = new URL(file, root);
    const found = existsSync(path) ? readFileSync(path, 'utf8') : '';
    expect(found, 'stale: run npm run bench -- --report').toBe(wanted);
  });

  it('say of each part when it was measured', () => {
    const page = readFileSync(new URL('bench/tables.md', root), 'utf8');
    for (const [name, { date }] of Object.entries(results.parts ?? {}))
      expect(page).toMatch(new RegExp(`\\| \`${name}\` \\|[^|]*\\| ${date} \\|`));
  });

  it('take no longer to measure than 90 minutes', () => {
    const minutes = Object.entries(PARTS).reduce(
      (sum, [name, part]) => sum + (wholeRun.includes(name) ? part.minutes : 0),
      0,
    );
    expect(minutes).toBeLessThanOrEqual(90);
  });
});

it('a marker that no section fills is refused', () => {
  expect(() => filled('<!-- bench:old -->\n<!-- /bench:old -->', { other: '' })).toThrow(/no section old/);
});
