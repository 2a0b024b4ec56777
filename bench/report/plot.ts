/** One line of a plot; points in rising order of x. */
interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Plot {
  readonly title: string;
  readonly x: { readonly label: string; readonly log?: boolean };
  readonly y: { readonly label: string };
  readonly series: readonly Series[];
}

const WIDTH = 640;
const HEIGHT = 320;
const LEFT = 64;
const RIGHT = 16;
const TOP = 56;
const BOTTOM = 48;
/** Told apart by color and by dash, and legible on light and dark pages. */
export const LOOKS = [
  { color: '#2f6fdb', dash: '' },
  { color: '#d9730d', dash: '6 4' },
  { color: '#2e8b57', dash: '2 3' },
] as const;

/** Draws a plot as an SVG that stands alone. A logarithmic x axis gives zero a place of its own, at its left end. */
export function svgOf(plot: Plot): string {
  const all = plot.series.flatMap(({ points }) => points);
  const xs = all.map(([x]) => x);
  const top = niceAbove(Math.max(1, ...all.map(([, y]) => y)));
  const place = xScale(xs, plot.x.log === true);
  const px = (x: number) => LEFT + place(x) * (WIDTH - LEFT - RIGHT);
  const py = (y: number) => HEIGHT - BOTTOM - (y / top) * (HEIGHT - TOP - BOTTOM);
  const yTicks = [0, 0.25, 0.5, 0.75, 1].map((share) => share * top);
  const xTicks = [...new Set(xs)].sort((a, b) => a - b);
  const parts = [
    text(LEFT, 20, plot.title, 'start', 14),
    ...yTicks.flatMap((y) => [
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${py(y)}" y2="${py(y)}" stroke="#8884" />`,
      text(LEFT - 6, py(y) + 4, short(y), 'end'),
    ]),
    ...xTicks.map((x) => text(px(x), HEIGHT - BOTTOM + 16, short(x), 'middle')),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, plot.x.label, 'middle'),
    `<g transform="rotate(-90)">${text(-(HEIGHT - BOTTOM + TOP) / 2, 14, plot.y.label, 'middle')}</g>`,
    ...plot.series.flatMap((series, i) => lineOf(series, i, px, py)),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(plot.title)}" font-family="system-ui, sans-serif" font-size="11" fill="#777">\n${parts.join('\n')}\n</svg>\n`;
}

function lineOf(series: Series, i: number, px: (x: number) => number, py: (y: number) => number): string[] {
  const { color, dash } = LOOKS[i % LOOKS.length] ?? LOOKS[0];
  const path = series.points.map(([x, y]) => `${px(x).toFixed(1)},${py(y).toFixed(1)}`).join(' ');
  const labelX = LEFT + i * 180;
  const labelY = 40;
  return [
    `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}" />`,
    ...series.points.map(
      ([x, y]) => `<circle cx="${px(x).toFixed(1)}" cy="${py(y).toFixed(1)}" r="3" fill="${color}" />`,
    ),
    `<line x1="${labelX}" x2="${labelX + 22}" y1="${labelY - 4}" y2="${labelY - 4}" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}" />`,
    text(labelX + 28, labelY, series.name, 'start'),
  ];
}

function xScale(xs: readonly number[], log: boolean): (x: number) => number {
  const highest = Math.max(...xs);
  if (!log) return (x) => (highest === 0 ? 0 : x / highest);
  const positive = xs.filter((x) => x > 0);
  const lowest = Math.min(...positive);
  const decades = Math.max(1, Math.log10(highest) - Math.log10(lowest));
  const from = positive.length < xs.length ? 0.12 : 0;
  return (x) => (x === 0 ? 0 : from + ((Math.log10(x) - Math.log10(lowest)) / decades) * (1 - from));
}

function niceAbove(value: number): number {
  const step = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 8, 10].map((factor) => factor * step).find((nice) => nice >= value) ?? value;
}

const short = (value: number): string => {
  if (value >= 1e6) return `${trim(value / 1e6)}M`;
  return value >= 1000 ? `${trim(value / 1000)}k` : trim(value);
};
const trim = (value: number): string => String(Number(value.toPrecision(3)));
export const escaped = (value: string): string =>
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
export const text = (x: number, y: number, value: string, anchor: string, size = 11): string =>
  `<text x="${x}" y="${y}" text-anchor="${anchor}" font-size="${size}">${escaped(value)}</text>`;
