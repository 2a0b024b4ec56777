import { escaped, LOOKS, text } from './plot.ts';

/** Bars side by side for each of several systems. */
export interface Bars {
  readonly title: string;
  readonly series: readonly string[];
  readonly log?: boolean;
  readonly told: (value: number) => string;
  /** A value for each series; undefined where there is none, which is said. */
  readonly groups: readonly { readonly name: string; readonly values: readonly (number | undefined)[] }[];
}

const WIDTH = 640;
const LEFT = 160;
/** The longest figure stands behind its bar. */
const RIGHT = 64;
const TOP = 56;
const BAR = 13;
const APART = 10;

/** Draws bars as an SVG that stands alone, each with its figure; a logarithmic one begins at a decade. */
export function barsSvgOf({ title, series, log = false, told, groups }: Bars): string {
  const known = groups.flatMap(({ values }) => values.filter((value) => value !== undefined));
  const highest = Math.max(...known);
  const lowest = 10 ** Math.floor(Math.log10(Math.min(...known)));
  const share = (value: number) =>
    log
      ? (Math.log10(value) - Math.log10(lowest)) / (Math.log10(highest) - Math.log10(lowest))
      : value / highest;
  const parts = [text(8, 20, title, 'start', 14), ...series.map(labelOf)];
  let y = TOP;
  for (const { name, values } of groups) {
    const height = values.length * BAR;
    parts.push(text(LEFT - 8, y + height / 2 + 4, name, 'end', 12));
    for (const [i, value] of values.entries()) {
      const length = value === undefined ? 0 : Math.max(2, share(value) * (WIDTH - LEFT - RIGHT));
      const { color } = LOOKS[i % LOOKS.length] ?? LOOKS[0];
      parts.push(
        `<rect x="${LEFT}" y="${y + 1}" width="${length.toFixed(1)}" height="${BAR - 2}" fill="${color}" />`,
        text(LEFT + length + 6, y + BAR - 3, value === undefined ? 'never' : told(value), 'start'),
      );
      y += BAR;
    }
    y += APART;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" role="img" aria-label="${escaped(title)}" font-family="system-ui, sans-serif" font-size="11" fill="#777">\n${parts.join('\n')}\n</svg>\n`;
}

const labelOf = (name: string, i: number): string => {
  const { color } = LOOKS[i % LOOKS.length] ?? LOOKS[0];
  const x = 8 + i * 200;
  return `<rect x="${x}" y="32" width="12" height="10" fill="${color}" />\n${text(x + 18, 41, name, 'start')}`;
};
