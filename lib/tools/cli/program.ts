import { Command, type Help } from 'commander';
import packageJson from '../../../package.json' with { type: 'json' };
import { type CommandEntry, commands } from './commands.ts';
import type { CliContext } from './define-command.ts';

const WIDEST_HELP = 110;

const MORE = `
Exit codes: 0 done; 1 refused, failed, or a problem was found; 2 usage error or
system unreachable.

Examples:
  $ leasehold dev                                    the system on this machine
  $ leasehold send email '{"to":"ada@example.com"}'  send a job
  $ leasehold show report-2026-03                    its life, and what is next
  $ leasehold doctor                                 is the system healthy?

'leasehold <command> --help' lists its options, with examples.`;

/** Loads only the command that the arguments name; throws a CommanderError instead of ending the process. */
export async function createProgram(
  context: CliContext,
  args: readonly string[],
  onMisuse: (text: string) => void = () => {},
): Promise<Command> {
  const { terminal } = context;
  const program = new Command('leasehold')
    .usage('<command> [options]')
    .description('Jobs that survive the death of their worker: send, inspect, repair and plan them.')
    .version(packageJson.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpCommand(
      new Command('help')
        .argument('[command]')
        .summary('print the help of a command')
        .helpGroup('Development:'),
    )
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: onMisuse,
      getOutHelpWidth: () => terminal.columns,
      getErrHelpWidth: () => terminal.noteColumns,
      getOutHasColors: () => terminal.hasColors,
      getErrHasColors: () => terminal.noteHasColors,
    })
    .configureHelp({
      helpWidth: Math.min(terminal.columns, WIDEST_HELP),
      subcommandTerm: (command) => command.name(),
    } satisfies Partial<Help>)
    .showHelpAfterError("Add --help to see the command's options and an example.")
    .addHelpText('after', MORE)
    .exitOverride();
  const called = entryIn(args);
  for (const entry of commands) {
    const command =
      entry === called
        ? (await entry.load()).createCommand(context)
        : new Command(entry.name).description(entry.summary);
    if (entry.alias !== undefined) command.alias(entry.alias);
    program.addCommand(inheriting(command.summary(entry.summary).helpGroup(entry.group), program));
  }
  return program;
}

const entryIn = (args: readonly string[]): CommandEntry | undefined =>
  args
    .slice(0, args[0] === 'help' ? 2 : 1)
    .flatMap((word) => commands.filter(({ name, alias }) => name === word || alias === word))[0];

/** `addCommand` copies nothing: without this, a command would write and exit past its terminal. */
function inheriting(command: Command, program: Command): Command {
  command.copyInheritedSettings(program);
  for (const each of command.commands) inheriting(each, command);
  return command;
}
