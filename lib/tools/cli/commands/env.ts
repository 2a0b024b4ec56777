import { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { type CliContext, withExamples, withJson, withoutSystem } from '../define-command.ts';
import { findLocalState } from '../find-system.ts';

/** `leasehold env`: the variables by which other processes find the system of `leasehold dev`. */
export function envCommand(context: CliContext): Command {
  const command = withJson(new Command('env'))
    .description('print the variables of the running local system, one NAME=value a line')
    .action((options: { readonly json?: boolean }) =>
      withoutSystem(context, options, async (output) => {
        const local = findLocalState(context.terminal.directory);
        if (local === undefined)
          throw new CliError("No local system runs in this folder or above. Start one with 'leasehold dev'");
        for (const [name, value] of Object.entries(local.environment)) output.line(`${name}=${value}`);
        output.json(local.environment);
        return undefined;
      }),
    );
  return withExamples(command, 'leasehold env > .env', 'export $(leasehold env)');
}
