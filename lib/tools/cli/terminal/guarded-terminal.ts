import { printable } from '../../inspect/printable.ts';
import type { Terminal } from './terminal.ts';

/** The terminal as every command gets it: here and nowhere else, so that no command can forget what comes from outside. */
export const guardedTerminal = (terminal: Terminal): Terminal => ({
  ...terminal,
  write: (text) => terminal.write(printable(text, terminal.hasColours)),
  note: (text) => terminal.note(printable(text, terminal.noteHasColours)),
  ask: (question) => terminal.ask(printable(question, false)),
});
