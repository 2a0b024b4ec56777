import pc from 'picocolors';
import { printable } from '../../inspect/printable.ts';
import { cutEnd, widthOf, wrapText } from './fit-text.ts';
import type { Terminal } from './terminal.ts';
import { renderTable, type TextTable } from './text-table.ts';

export type Colors = ReturnType<typeof pc.createColors>;

export interface OutputOptions {
  readonly json?: boolean;
  readonly wide?: boolean;
}

export type Output = ReturnType<typeof createOutput>;

export function createOutput(terminal: Terminal, options: OutputOptions) {
  const isJson = options.json === true;
  const colors = pc.createColors(terminal.hasColors && !isJson);
  const width = options.wide === true ? Number.POSITIVE_INFINITY : terminal.columns;
  const line = (text = ''): void => {
    if (!isJson) terminal.write(`${text}\n`);
  };
  return {
    isJson,
    colors,
    width,
    line,
    say(mark: string, text: string, paint: (text: string) => string = String): void {
      const indent = ' '.repeat(widthOf(mark));
      const lines = wrapText(printable(text, terminal.hasColors), Math.max(20, width - indent.length));
      for (const [i, each] of lines.entries()) line((i === 0 ? mark : indent) + paint(each));
    },
    /** Returns the titles of the columns that did not fit. */
    table(table: TextTable): readonly string[] {
      const { text, leftOut } = renderTable(table, width, colors);
      line(text);
      return leftOut;
    },
    json(value: unknown): void {
      if (isJson) terminal.write(`${JSON.stringify(value)}\n`);
    },
    note: (text: string): void => noteOn(terminal, text),
  };
}

export const noteOn = (terminal: Terminal, text: string): void =>
  terminal.note(`${wrapText(printable(text, terminal.noteHasColors), terminal.noteColumns).join('\n')}\n`);

export const firstLine = (text: string, length = Number.POSITIVE_INFINITY): string =>
  cutEnd(text.split('\n')[0] ?? '', length);
