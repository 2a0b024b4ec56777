import { printable } from '../../inspect/printable.ts';
import type { Terminal } from './terminal.ts';

/** Every command gets this terminal, so none can forget to escape outside text. */
export const guardedTerminal = (terminal: Terminal): Terminal => ({
  ...terminal,
  write: (text) => terminal.write(printable(text, terminal.hasColours)),
  note: (text) => terminal.note(printable(text, terminal.noteHasColours)),
  ask: (question) => terminal.ask(printable(question, false)),
});
