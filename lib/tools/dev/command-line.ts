import { moduleExtension } from '../../this-package.ts';

/** How to call the command line from a shell; a clone of this repository has no binary to run with npx. */
export const commandLine: string = moduleExtension === '.ts' ? 'npm run -s leasehold --' : 'npx leasehold';

/** Runs a worker of the user's own on the local stack. */
export const workLine: string = `set -a; eval "$(${commandLine} dev --env)"; set +a; ${commandLine} work src/jobs.ts`;
