import { moduleExtension } from '../../this-package.ts';

/** How to call the command line from a shell; a clone of this repository has no binary to run with npx. */
export const commandLine: string = moduleExtension === '.ts' ? 'npm run -s leasehold --' : 'npx leasehold';
