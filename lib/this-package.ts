import { extname, join } from 'node:path';

/**
 * Where this code is. The only module that asks, because the answer is spelled differently in an ES module, in CommonJS, and in
 * a bundle; the CommonJS build has a twin of it (bin/build.ts).
 */
/** The file this module is in: its own, or the bundle that it became a part of. */
export const thisFile: string = import.meta.filename ?? __filename;

/** The folder `lib`, as sources or as the package's ES modules. */
export const libFolder: string = import.meta.dirname ?? __dirname;

/** The folder above, which has `functions` beside `lib`. */
export const packageFolder: string = join(libFolder, '..');

/** `.ts` where the sources run, `.js` in the published package. */
export const moduleExtension: string = extname(thisFile);
