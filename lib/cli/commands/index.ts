import type { Command } from 'commander';
import type { CliContext } from '../define-command.ts';
import { explainCommand } from './explain.ts';
import { lsCommand } from './ls.ts';
import { sendCommand } from './send.ts';
import { showCommand } from './show.ts';

/** Every command, in the order in which the help lists them. */
export const commands: readonly ((context: CliContext) => Command)[] = [
  sendCommand,
  lsCommand,
  showCommand,
  explainCommand,
];
