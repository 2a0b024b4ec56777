import { printable } from '../../inspect/printable.ts';
import type { Terminal } from './terminal.ts';

/** Every command gets this terminal, so none can forget to escape outside text. */
export const guardedTerminal = (terminal: Terminal): Terminal => ({
  ...terminal,
  write: (text) => terminal.write(printable(text, terminal.hasColors)),
  note: (text) => terminal.note(printable(text, terminal.noteHasColors)),
  ask: (question) => terminal.ask(printable(question, false)),
});
