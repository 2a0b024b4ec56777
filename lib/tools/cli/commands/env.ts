import { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { type CliContext, withExamples, withJson, withoutSystem } from '../define-command.ts';
import { findLocalState } from '../find-system.ts';

export function createCommand(context: CliContext): Command {
  const command = withJson(new Command('env'))
    .description('print the variables of the running local system, one NAME=value a line')
    .action((options: { readonly json?: boolean }) =>
      withoutSystem(context, options, async (output) => {
        const local = findLocalState(context.terminal.directory);
        if (local === undefined)
          throw new CliError("No local system runs in this folder or above. Start one with 'leasehold dev'");
        for (const [name, value] of Object.entries(local.environment))
          output.line(`${name}=${forShells(value)}`);
        output.json(local.environment);
        return undefined;
      }),
    );
  return withExamples(command, 'leasehold env > .env', 'set -a; eval "$(leasehold env)"; set +a');
}

/** Quotes anything that a shell or a .env parser could misread. */
export const forShells = (value: string): string =>
  /^[\w./:@%+,-]*$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
