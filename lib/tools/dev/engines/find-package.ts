import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { thisFile } from '../../../this-package.ts';

interface Platform {
  readonly platform: string;
  readonly arch: string;
}

/** Resolved as `import` would, also by Yarn's Plug'n'Play, where there is no folder to look into. */
export function isInstalled(name: string): boolean {
  try {
    return createRequire(thisFile).resolve(`${name}/package.json`) !== '';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_PACKAGE_PATH_NOT_EXPORTED';
  }
}

/** Programs need not be packages that this one may import: the project may have them. */
const users = (): readonly string[] => [thisFile, join(process.cwd(), 'package.json')];

export function folderOfPackage(name: string, from: readonly string[] = users()): string | undefined {
  for (const file of from)
    try {
      return dirname(createRequire(file).resolve(`${name}/package.json`));
    } catch {
      // Not installed there.
    }
  return undefined;
}

/** https://github.com/nubo-db/dynoxide/blob/main/npm/dynoxide/package.json */
const DYNOXIDE_PLATFORMS = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64', 'win32-x64'];

export const dynoxidePackage = ({ platform, arch }: Platform = process): string | undefined =>
  DYNOXIDE_PLATFORMS.includes(`${platform}-${arch}`) ? `@dynoxide/${platform}-${arch}` : undefined;

export function findDynoxide(on: Platform = process, from: readonly string[] = users()): string | undefined {
  const name = dynoxidePackage(on);
  if (name === undefined) return undefined;
  const wrapper = join(folderOfPackage('dynoxide', from) ?? '', 'package.json');
  const folder = folderOfPackage(name, [...from, wrapper]);
  return folder && join(folder, on.platform === 'win32' ? 'dynoxide.exe' : 'dynoxide');
}
