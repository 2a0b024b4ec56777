import { readFileSync, writeFileSync } from 'node:fs';
import { readmeSection } from './headline.ts';
import { filled } from './markdown.ts';
import { ownSections, scaleSections } from './own-figures.ts';
import { performanceSections } from './performance.ts';
import { plotsOf } from './plots.ts';
import type { Results } from './results.ts';

/** Every file that follows from the figures, by its path, with what should be in it. */
export function reportOf(results: Results, root: URL): Record<string, string> {
  const sections = {
    ...performanceSections(results),
    ...ownSections(results),
    ...scaleSections(results),
    first: readmeSection(results),
  };
  const pages = [
    'README.md',
    'docs/operating/performance.md',
    'docs/internals/measurements.md',
    'bench/tables.md',
    'docs/operating/scale.md',
  ].map((page): [string, string] => [page, filled(readFileSync(new URL(page, root), 'utf8'), sections)]);
  const plots = Object.entries(plotsOf(results)).map(([name, svg]): [string, string] => [
    ...([`docs/images/${name}`, svg] as const),
  ]);
  return Object.fromEntries([...pages, ...plots]);
}

/** Writes the measured tables into the pages, and draws the plots. */
export function writeReport(results: Results): void {
  const root = new URL('../../', import.meta.url);
  for (const [file, content] of Object.entries(reportOf(results, root)))
    writeFileSync(new URL(file, root), content);
}
