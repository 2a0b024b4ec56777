import { CliError, exitCodes } from '../cli-error.ts';
import { createOutput } from '../terminal/output.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { findLocalState } from './find-system.ts';

export function printLocalVariables(terminal: Terminal, options: { readonly json?: boolean }) {
  const output = createOutput(terminal, options);
  const local = findLocalState(terminal.directory);
  if (local === undefined)
    throw new CliError("No local system runs in this folder or above. Start one with 'leasehold dev'");
  for (const [name, value] of Object.entries(local.environment)) output.line(`${name}=${forShells(value)}`);
  output.json(local.environment);
  return exitCodes.ok;
}

/** Quotes anything that a shell or a .env parser could misread. */
export const forShells = (value: string): string =>
  /^[\w./:@%+,-]*$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
