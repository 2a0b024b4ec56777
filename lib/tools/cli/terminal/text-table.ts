import { printable } from '../../inspect/printable.ts';
import { cutEnd, cutMiddle, widthOf } from './fit-text.ts';
import type { Colors } from './output.ts';

export type Column =
  | string
  | {
      readonly title: string;
      readonly right?: boolean;
      /** May be cut to this width. */
      readonly min?: number;
      readonly cut?: 'middle' | 'end';
      /** May be left out if space is short, lowest number first. */
      readonly leaveOut?: number;
    };

/** The paint applies after the cut. */
export type Cell = string | readonly [text: string, paint: (text: string) => string];

export interface TextTable {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
}

const GAP = 2;

interface Lane {
  readonly title: string;
  readonly right: boolean;
  readonly min: number;
  readonly natural: number;
  readonly cut: 'middle' | 'end';
  readonly leaveOut?: number;
  readonly cells: readonly { readonly text: string; readonly paint: (text: string) => string }[];
}

export function renderTable(
  { columns, rows }: TextTable,
  width: number,
  colors: Colors,
): { readonly text: string; readonly leftOut: readonly string[] } {
  const lanes = columns.map((column, i) => laneOf(column, rows, i));
  const shown = lanesWithin(lanes, width);
  const widths = widthsWithin(shown, width);
  const line = (cellOf: (lane: Lane) => Lane['cells'][number] | undefined) =>
    shown
      .map((lane, i) => drawn(lane, cellOf(lane) ?? { text: '', paint: String }, widths[i] ?? 0))
      .join(' '.repeat(GAP))
      .trimEnd();
  const lines = [
    line(({ title }) => ({ text: title, paint: colors.dim })),
    ...rows.map((_, n) => line((lane) => lane.cells[n])),
  ];
  return {
    text: lines.join('\n'),
    leftOut: lanes.filter((lane) => !shown.includes(lane)).map(({ title }) => title),
  };
}

function laneOf(column: Column, rows: TextTable['rows'], i: number): Lane {
  const {
    title,
    right = false,
    min,
    cut = 'end',
    leaveOut,
  } = typeof column === 'string' ? { title: column } : column;
  const cells = rows.map((row) => {
    const cell = row[i] ?? '';
    const [text, paint] = typeof cell === 'string' ? [cell, String] : cell;
    return { text: oneLine(text), paint };
  });
  const natural = Math.max(widthOf(title), ...cells.map(({ text }) => widthOf(text)));
  return { title, right, cut, leaveOut, cells, natural, min: Math.min(min ?? natural, natural) };
}

/** Escapes before measuring, or outside text could shift the columns. */
const oneLine = (text: string): string =>
  printable(text.replaceAll(/\s*\n\s*/g, ' ↵ ').replaceAll('\t', ' '), false);

const total = (widths: readonly number[]): number =>
  widths.reduce((sum, each) => sum + each, 0) + GAP * Math.max(0, widths.length - 1);

function lanesWithin(lanes: readonly Lane[], width: number): readonly Lane[] {
  if (total(lanes.map(({ min }) => min)) <= width) return lanes;
  const [first] = lanes
    .filter(({ leaveOut }) => leaveOut !== undefined)
    .sort((a, b) => (a.leaveOut ?? 0) - (b.leaveOut ?? 0));
  return first === undefined
    ? lanes
    : lanesWithin(
        lanes.filter((lane) => lane !== first),
        width,
      );
}

function widthsWithin(lanes: readonly Lane[], width: number): readonly number[] {
  const widths = lanes.map(({ natural }) => natural);
  for (let over = total(widths) - width; over > 0; ) {
    const givers = lanes.map((_, i) => i).filter((i) => (widths[i] ?? 0) > (lanes[i]?.min ?? 0));
    const [widest] = givers.sort((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
    if (widest === undefined) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    over--;
  }
  return lastCut(lanes, widths, width);
}

function lastCut(lanes: readonly Lane[], widths: number[], width: number): readonly number[] {
  for (let i = lanes.length - 1; i >= 0 && total(widths) > width; i--)
    widths[i] = Math.max(1, (widths[i] ?? 0) - (total(widths) - width));
  return widths;
}

function drawn(lane: Lane, { text, paint }: Lane['cells'][number], width: number): string {
  const fitting = (lane.cut === 'middle' ? cutMiddle : cutEnd)(text, width);
  const padding = ' '.repeat(Math.max(0, width - widthOf(fitting)));
  return lane.right ? padding + paint(fitting) : paint(fitting) + padding;
}
