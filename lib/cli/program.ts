import tab from '@bomb.sh/tab/commander';
import { Command } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { commands } from './commands/index.ts';
import { type CliContext, withExamples } from './define-command.ts';

/** The whole command line: `leasehold <command>`. Throws a CommanderError instead of ending the process. */
export function createProgram(context: CliContext): Command {
  const { terminal } = context;
  const program = new Command('leasehold')
    .description('Jobs that survive the death of their worker: send, inspect, repair and plan them.')
    .version(packageJson.version)
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.note(text),
      getOutHelpWidth: () => terminal.columns,
      getErrHelpWidth: () => terminal.columns,
      getOutHasColors: () => terminal.hasColours,
      getErrHasColors: () => terminal.hasColours,
    })
    .configureHelp({ helpWidth: Math.min(terminal.columns, 110) })
    .showHelpAfterError("Add --help to see the command's options and an example.")
    .addHelpText(
      'after',
      [
        '',
        'Exit codes: 0 done, 1 refused, failed, or a problem was found, 2 usage error or system unreachable.',
        '',
        'Examples:',
        '  $ leasehold dev                                     start the whole system on this machine',
        '  $ leasehold send email \'{"to":"ada@example.com"}\'    send a job',
        '  $ leasehold explain 3f0c…                           see its whole life, and what happens next',
        '  $ leasehold doctor                                  check everything; use its exit code in CI',
      ].join('\n'),
    )
    .exitOverride();
  for (const define of commands) program.addCommand(inheriting(define(context), program));
  addCompletion(program);
  return program;
}

/** Adds `completion <shell>`, which prints a script, and the hidden command that the script calls at every Tab. */
function addCompletion(program: Command): void {
  tab(program, { completionCommandName: 'completion' });
  const completion = program.commands.find((command) => command.name() === 'completion');
  if (completion === undefined) return;
  completion.description('print a script for Tab completion in bash, zsh or fish');
  withExamples(
    completion,
    'source <(leasehold completion bash)                                         # bash, zsh',
    'leasehold completion fish > ~/.config/fish/completions/leasehold.fish      # fish',
  );
}

/** `addCommand` copies nothing: without this a command would write and exit past the terminal it was given. */
function inheriting(command: Command, program: Command): Command {
  command.copyInheritedSettings(program);
  for (const each of command.commands) inheriting(each, command);
  return command;
}
