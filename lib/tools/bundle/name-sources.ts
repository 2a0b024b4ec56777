import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { packageFolder } from '../../this-package.ts';

/**
 * A map names its sources from where it is: it would tell the builder's folders, and the hash of the code would change with the place of
 * `cdk.out`. The map of a host that was only copied from the published package finds none of them, and stays as it is.
 */
export function nameSourcesFromPackage(folder: string): void {
  for (const file of globSync(join(folder, '*.map'))) {
    const map = JSON.parse(readFileSync(file, 'utf8')) as { sources: string[] };
    const sources = map.sources.map((source) => {
      const real = resolve(dirname(file), source);
      return existsSync(real) ? relative(packageFolder, real) : source;
    });
    writeFileSync(file, JSON.stringify({ ...map, sources }));
  }
}
