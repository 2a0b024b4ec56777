import pc from 'picocolors';
import { printable } from '../../inspect/printable.ts';
import { cutEnd, widthOf, wrapText } from './fit-text.ts';
import type { Terminal } from './terminal.ts';
import { renderTable, type TextTable } from './text-table.ts';

export type Colours = ReturnType<typeof pc.createColors>;

/** How a command prints: people get text and tables, programs get one JSON document and nothing else on stdout. */
export interface Output {
  readonly isJson: boolean;
  readonly colours: Colours;
  /** How wide a line may be; infinite off a screen and with --wide. */
  readonly width: number;
  /** Text for people; nothing in JSON. */
  line(text?: string): void;
  /** Text after a mark, wrapped between words and aligned with its own beginning. */
  say(mark: string, text: string, paint?: (text: string) => string): void;
  /** Returns the titles of the columns that had no room. */
  table(table: TextTable): readonly string[];
  /** The result for programs; nothing in text. */
  json(value: unknown): void;
  /** A remark that belongs to neither result; goes to stderr. */
  note(text: string): void;
}

export interface OutputOptions {
  readonly json?: boolean;
  readonly wide?: boolean;
}

export function createOutput(terminal: Terminal, options: OutputOptions): Output {
  const isJson = options.json === true;
  const colours = pc.createColors(terminal.hasColours && !isJson);
  const width = options.wide === true ? Number.POSITIVE_INFINITY : terminal.columns;
  const line = (text = '') => {
    if (!isJson) terminal.write(`${text}\n`);
  };
  return {
    ...{ isJson, colours, width, line },
    say(mark, text, paint = String) {
      const indent = ' '.repeat(widthOf(mark));
      const lines = wrapText(printable(text, terminal.hasColours), Math.max(20, width - indent.length));
      for (const [i, each] of lines.entries()) line((i === 0 ? mark : indent) + paint(each));
    },
    table(table) {
      const { text, leftOut } = renderTable(table, width, colours);
      line(text);
      return leftOut;
    },
    json(value) {
      if (isJson) terminal.write(`${JSON.stringify(value)}\n`);
    },
    note: (text) => noteOn(terminal, text),
  };
}

/** Notes are wrapped, too: an operator reads them, and no program should. */
export const noteOn = (terminal: Terminal, text: string): void =>
  terminal.note(`${wrapText(printable(text, terminal.noteHasColours), terminal.noteColumns).join('\n')}\n`);

/** One line of a text that may have many. */
export const firstLine = (text: string, length = Number.POSITIVE_INFINITY): string =>
  cutEnd(text.split('\n')[0] ?? '', length);
