import { formatDuration } from '../../inspect/format-duration.ts';

interface Point {
  /** ms. */
  readonly x: number;
  /** Dollars. */
  readonly y: number;
}

/** Approximate. */
const HEIGHT = 8;
const WIDEST = 72;
/** Candidates for ticks. */
const TIMES_MS = [10, 20, 60, 120, 300, 600, 1800, 3600, 7200].map((seconds) => seconds * 1000);

/** Time is on a logarithmic axis; one point is marked. */
export function plotCurve(points: readonly Point[], marked: Point, width: number): string[] {
  const highest = Math.max(...points.map(({ y }) => y));
  const step = roundStep(highest / 4);
  const steps = Math.max(1, Math.ceil(highest / step - 1e-9));
  // Gives each round sum its own row.
  const rowsAStep = Math.max(2, Math.round(HEIGHT / steps));
  const bottom = steps * rowsAStep;
  const top = step * steps;
  const labels = Array.from({ length: bottom + 1 }, (_, row) =>
    row % rowsAStep === 0 ? tickOf(top - (row / rowsAStep) * step, step) : '',
  );
  const margin = Math.max(...labels.map((text) => text.length));
  const columns = Math.max(20, Math.min(WIDEST, width) - margin - 3);
  const [low = 1, high = 2] = [points[0]?.x, points.at(-1)?.x];
  const columnOf = (x: number) => Math.round(((columns - 1) * Math.log(x / low)) / Math.log(high / low));
  const rowOf = (y: number) => bottom - Math.round((bottom * y) / top);
  const grid = Array.from(labels, () => Array.from({ length: columns }, () => ' '));
  let before = rowOf(points[0]?.y ?? 0);
  for (const { x, y } of points) {
    // Fills gaps in steep parts.
    for (let row = Math.min(before, rowOf(y)); row <= Math.max(before, rowOf(y)); row++)
      set(grid, row, columnOf(x), '•');
    before = rowOf(y);
  }
  set(grid, rowOf(marked.y), columnOf(marked.x), '◆');
  const ticks = TIMES_MS.filter((time) => time >= low && time <= high);
  return [
    ...grid.map((row, n) =>
      `${(labels[n] ?? '').padStart(margin)} ${labels[n] === '' ? '│' : '┤'} ${row.join('')}`.trimEnd(),
    ),
    `${' '.repeat(margin)} └${axis(ticks.map(columnOf), columns)}`,
    `${' '.repeat(margin + 3)}${tickLabels(ticks, columnOf, columns)}`.trimEnd(),
  ];
}

function set(grid: string[][], row: number, column: number, mark: string): void {
  const line = grid[row];
  if (line?.[column] !== undefined) line[column] = mark;
}

const axis = (ticks: readonly number[], columns: number): string =>
  Array.from({ length: columns + 1 }, (_, i) => (ticks.includes(i - 1) ? '┬' : '─')).join('');

/** Skips labels that would overlap. */
function tickLabels(ticks: readonly number[], columnOf: (x: number) => number, columns: number): string {
  let line = '';
  for (const time of ticks) {
    const text = formatDuration(time);
    const at = Math.min(columns - text.length, Math.max(0, columnOf(time) - Math.floor(text.length / 2)));
    if (at > line.length || line === '') line = line.padEnd(at) + text;
  }
  return line;
}

/** The least of 1, 2, 2.5 and 5 times a power of ten that is at least this. */
function roundStep(atLeast: number): number {
  if (!(atLeast > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(atLeast));
  return power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= atLeast * (1 - 1e-9)) ?? 10);
}

function tickOf(dollars: number, step: number): string {
  const digits = step >= 1 && Number.isInteger(step) ? 0 : Math.max(2, Math.ceil(-Math.log10(step)) + 1);
  return `$${dollars.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}
