import { CliError, exitCodes } from '../cli-error.ts';
import type { Terminal } from './terminal.ts';

export async function confirmed(
  terminal: Terminal,
  question: string,
  options: { readonly yes?: boolean },
): Promise<boolean> {
  if (options.yes === true) return true;
  if (!terminal.isInteractive)
    throw new CliError(
      `${question} Nothing was done: there is no terminal to answer on. Add --yes to go ahead`,
      exitCodes.unusable,
    );
  if (await terminal.ask(question)) return true;
  terminal.note('Nothing was done.\n');
  return false;
}
