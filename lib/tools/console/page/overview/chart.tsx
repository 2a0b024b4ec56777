import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { formatDuration } from '../../../inspect/format-duration.ts';
import type { Trend } from '../../page-messages.ts';
import { timeOfMinute } from '../format.ts';
import type { Plot, PlotLine } from './history.tsx';

const HEIGHT = 84;
/** At first, an axis of a few minutes is easier to read than an empty hour. */
const SHORTEST_MS = 900_000;

export function Chart({ plot, trend }: { readonly plot: Plot; readonly trend: Trend }) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(undefined);
  const [hovered, setHovered] = useState<number>();
  const lines = plot.lines.filter(({ line }) => trend.lines[line] !== undefined);
  const latest = useRef({ plot, lines, trend });
  latest.current = { plot, lines, trend };
  const names = lines.map(({ name }) => name).join();
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const create = () => {
      chart.current?.destroy();
      chart.current = createChart(plot, lines, element, setHovered);
      draw(chart.current, latest.current);
    };
    create();
    const resize = new ResizeObserver(() => {
      if (element.clientWidth > 0) chart.current?.setSize({ width: element.clientWidth, height: HEIGHT });
    });
    resize.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', create);
    return () => {
      resize.disconnect();
      scheme.removeEventListener('change', create);
      chart.current?.destroy();
    };
  }, [names]);
  useEffect(() => {
    if (chart.current !== undefined) draw(chart.current, latest.current);
  }, [trend]);
  const at = hovered === undefined ? undefined : trend.from + hovered * trend.stepMs;
  return (
    <figure class="plot">
      <figcaption>
        <span class="plot-title">{plot.title}</span>
        {at !== undefined && <time>{timeOfMinute(at)}</time>}
        {lines.map((each) => (
          <span key={each.line} class="plot-value">
            <i class="swatch" style={{ background: `var(${each.color})` }} />
            {lines.length > 1 && `${each.name} `}
            <b>{shownValue(plot, trend.lines[each.line] ?? [], hovered)}</b>
          </span>
        ))}
      </figcaption>
      <div ref={box} class="plot-box" role="img" aria-label={descriptionOf(plot, lines, trend)} />
    </figure>
  );
}

const format = (unit: Plot['unit'], value: number): string =>
  unit === 'ms' ? formatDuration(value) : value.toLocaleString('en-US');

function shownValue({ kind, unit }: Plot, line: readonly (number | null)[], hovered?: number): string {
  const known = line.filter((each) => each !== null);
  const value =
    hovered !== undefined
      ? line[hovered]
      : kind === 'bars'
        ? known.length > 0
          ? known.reduce((sum, each) => sum + each, 0)
          : undefined
        : known.at(-1);
  return value == null ? '–' : format(unit, value);
}

const descriptionOf = (plot: Plot, lines: readonly PlotLine[], trend: Trend): string =>
  `${plot.title}: ${lines.map(({ name, line }) => `${name} ${shownValue(plot, trend.lines[line] ?? [])}`).join(', ')}`;

interface Drawn {
  readonly plot: Plot;
  readonly lines: readonly PlotLine[];
  readonly trend: Trend;
}

function draw(chart: uPlot, { plot, lines, trend }: Drawn): void {
  const { from, stepMs, since } = trend;
  const given = lines.map(({ line }) => trend.lines[line] ?? []);
  const steps = Math.max(0, ...given.map((line) => line.length));
  const xs = Array.from({ length: steps }, (_, i) => (from + i * stepMs) / 1000);
  // Later series are drawn in front, so stacked bars begin with the sum.
  const stacked =
    plot.kind === 'bars'
      ? given.map((_, i) =>
          xs.map((_x, at) => {
            const parts = given.slice(i).map((line) => line[at] ?? null);
            return parts.every((part) => part === null)
              ? null
              : parts.reduce<number>((sum, part) => sum + (part ?? 0), 0);
          }),
        )
      : given;
  chart.setData([xs, ...stacked] as unknown as uPlot.AlignedData, false);
  const to = from + steps * stepMs;
  const known = xs.find((_, at) => given.some((line) => (line[at] ?? null) !== null));
  const begun = Math.min(since ?? from, known === undefined ? to : known * 1000);
  const start = Math.max(from, Math.min(begun, to - SHORTEST_MS));
  chart.setScale('x', { min: start / 1000, max: to / 1000 });
}

/** Resolves the color through an element, because a canvas cannot read light-dark(…). */
function colorOf(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** 1, 2, 5, 10, … up to millions, so that no axis loses its labels. */
const WHOLE_STEPS = Array.from(
  { length: 24 },
  (_, i) => (i % 3 === 0 ? 1 : i % 3 === 1 ? 2 : 5) * 10 ** Math.floor(i / 3),
);

const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

function createChart(
  plot: Plot,
  lines: readonly PlotLine[],
  element: HTMLElement,
  onHover: (index: number | undefined) => void,
): uPlot {
  const axis = {
    stroke: colorOf('--muted'),
    font: '11px system-ui',
    grid: { stroke: colorOf('--line'), width: 1 },
    ticks: { show: false },
  };
  const isMs = plot.unit === 'ms';
  return new uPlot(
    {
      width: Math.max(120, element.clientWidth),
      height: HEIGHT,
      padding: [8, 8, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false }, sync: { key: 'history' } },
      hooks: { setCursor: [({ cursor }) => onHover(cursor.idx ?? undefined)] },
      scales: {
        x: { time: true },
        y: { range: (_chart, _min, max) => [0, Math.max(isMs ? 1000 : 1, (max ?? 0) * 1.1)] },
      },
      axes: [
        {
          ...axis,
          size: 22,
          space: 56,
          values: (_chart, splits) => splits.map((at) => timeOfMinute(at * 1000)),
        },
        {
          ...axis,
          size: 48,
          space: 26,
          incrs: isMs ? undefined : WHOLE_STEPS,
          values: (_chart, splits) =>
            splits.map((value) =>
              isMs ? (value === 0 ? '0' : formatDuration(value)) : compact.format(value),
            ),
        },
      ],
      series: [{}, ...lines.map((line) => seriesOf(plot, line))],
    },
    [[], ...lines.map(() => [])],
    element,
  );
}

function seriesOf({ kind }: Plot, { color }: PlotLine): uPlot.Series {
  const stroke = colorOf(color);
  return {
    stroke,
    width: kind === 'bars' ? 0 : 1.5,
    fill: kind === 'bars' ? stroke : withAlpha(stroke, 0.12),
    points: { show: false },
    paths:
      kind === 'bars'
        ? uPlot.paths.bars?.({ size: [0.8, 14, 1], align: 1 })
        : uPlot.paths.stepped?.({ align: 1 }),
    spanGaps: false,
  };
}

const withAlpha = (color: string, alpha: number): string =>
  color.startsWith('rgb(') ? color.replace('rgb(', 'rgba(').replace(')', `, ${alpha})`) : color;
