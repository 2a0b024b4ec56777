import { moduleExtension } from '../../this-package.ts';
import { runCommand } from '../bundle/package-manager.ts';

/** How to call the command line from a shell; a clone of this repository has no binary to run. */
export const commandLine: string =
  moduleExtension === '.ts' ? 'npm run -s leasehold --' : `${runCommand()} leasehold`;

export const workLine: string = `set -a; eval "$(${commandLine} dev --env)"; set +a; ${commandLine} work src/jobs.ts`;
