import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { packageFolder } from '../../this-package.ts';

/** Maps name sources relative to themselves, which would reveal the builder's folders and change the hash with the place of `cdk.out`. */
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
