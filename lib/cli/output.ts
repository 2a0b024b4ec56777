import Table from 'cli-table3';
import pc from 'picocolors';
import type { Terminal } from './terminal.ts';

export type Colours = ReturnType<typeof pc.createColors>;

/** How a command prints: people get text and tables, programs get one JSON document and nothing else on stdout. */
export interface Output {
  readonly isJson: boolean;
  readonly colours: Colours;
  /** Text for people; nothing in JSON. */
  line(text?: string): void;
  table(table: TextTable): void;
  /** The result for programs; nothing in text. */
  json(value: unknown): void;
  /** A remark that belongs to neither result; goes to stderr. */
  note(text: string): void;
}

interface TextTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Columns that are aligned right. */
  readonly right?: readonly number[];
}

export function createOutput(terminal: Terminal, isJson: boolean): Output {
  const colours = pc.createColors(terminal.hasColours && !isJson);
  return {
    isJson,
    colours,
    line(text = '') {
      if (!isJson) terminal.write(`${text}\n`);
    },
    table(table) {
      if (!isJson) terminal.write(`${renderTable(table, colours)}\n`);
    },
    json(value) {
      if (isJson) terminal.write(`${JSON.stringify(value)}\n`);
    },
    note: (text) => terminal.note(`${text}\n`),
  };
}

const NO_BORDERS = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '' },
  ...{ bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
  ...{ left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '  ' },
};

/** Columns without lines, so that a cell can be picked out with a double click and a row with grep. */
function renderTable({ head, rows, right = [] }: TextTable, colours: Colours): string {
  const table = new Table({
    head: head.map((title) => colours.dim(title)),
    chars: NO_BORDERS,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
    colAligns: head.map((_, i) => (right.includes(i) ? 'right' : 'left')),
  });
  for (const row of rows) table.push([...row]);
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** Keeps the ends of a long name, which tell names apart, and drops its middle. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const tail = Math.floor((length - 1) / 3);
  return `${text.slice(0, length - 1 - tail)}…${text.slice(text.length - tail)}`;
}

/** One line of a text that may have many. */
export const firstLine = (text: string, length = 80): string => {
  const [line = ''] = text.split('\n');
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
};
