import { writeFile } from 'node:fs/promises';
import { fillPage } from './markdown.ts';
import { ownSections, plotsOf, scaleSections } from './own-figures.ts';
import { performanceSections } from './performance.ts';
import type { Results } from './results.ts';

const docs = new URL('../../docs/', import.meta.url);

/** Writes the measured tables into the pages, and draws the plots. */
export async function writeReport(results: Results): Promise<void> {
  await fillPage(new URL('performance.md', docs), {
    ...performanceSections(results),
    ...ownSections(results),
  });
  await fillPage(new URL('scale.md', docs), scaleSections(results));
  for (const [name, svg] of Object.entries(plotsOf(results)))
    await writeFile(new URL(`images/${name}`, docs), svg);
}
