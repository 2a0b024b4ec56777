import { useState } from 'preact/hooks';
import { formatDuration } from '../../../inspect/format-duration.ts';
import type { Trend } from '../../page-messages.ts';
import { timeOfMinute } from '../format.ts';
import type { Plot, PlotLine } from './history.tsx';

/** At first, an axis of a few minutes is easier to read than an empty hour. */
const SHORTEST_MS = 900_000;
/** One unit of the drawing's width is a step. */
const HEIGHT = 100;

export function Chart({ plot, trend }: { readonly plot: Plot; readonly trend: Trend }) {
  const [hovered, setHovered] = useState<number>();
  const lines = plot.lines.filter(({ line }) => trend.lines[line] !== undefined);
  const steps = Math.max(0, ...lines.map(({ line }) => trend.lines[line]?.length ?? 0));
  const first = firstStep(lines, trend, steps);
  const drawn = Array.from({ length: steps - first }, (_, i) => stackOf(plot, lines, trend, first + i));
  const top = Math.max(plot.unit === 'ms' ? 1000 : 1, ...drawn.flat().map(({ to }) => to));
  const heightOf = (value: number) => HEIGHT - (value / top) * HEIGHT;
  const timeAt = (step: number) => timeOfMinute(trend.from + step * trend.stepMs);
  const hover = (event: PointerEvent & { readonly currentTarget: SVGElement }) => {
    const share = event.offsetX / event.currentTarget.clientWidth;
    setHovered(first + Math.min(drawn.length - 1, Math.max(0, Math.floor(share * drawn.length))));
  };
  return (
    <figure class="plot">
      <figcaption>
        <span class="plot-title">{plot.title}</span>
        {hovered !== undefined && <time>{timeAt(hovered)}</time>}
        {lines.map((each) => (
          <span key={each.line} class="plot-value">
            <i class="swatch" style={{ background: `var(${each.color})` }} />
            {lines.length > 1 && `${each.name} `}
            <b>{shownValue(plot, trend.lines[each.line] ?? [], hovered)}</b>
          </span>
        ))}
      </figcaption>
      <svg
        class="plot-box"
        role="img"
        aria-label={descriptionOf(plot, lines, trend)}
        viewBox={`0 0 ${Math.max(1, drawn.length)} ${HEIGHT}`}
        preserveAspectRatio="none"
        onPointerMove={hover}
        onPointerLeave={() => setHovered(undefined)}
      >
        {drawn.flatMap((stack, step) =>
          stack.map(({ color, from, to }) => (
            <g key={`${step}${color}`} style={{ color: `var(${color})` }} data-kind={plot.kind}>
              <rect
                x={plot.kind === 'bars' ? step + 0.1 : step}
                width={plot.kind === 'bars' ? 0.8 : 1}
                y={heightOf(to)}
                height={heightOf(from) - heightOf(to)}
              />
              <path d={`M${step} ${heightOf(to)}h1`} />
            </g>
          )),
        )}
      </svg>
      <div class="plot-axis" aria-hidden="true">
        <span>{timeAt(first)}</span>
        <span>top {format(plot.unit, top)}</span>
        <span>{timeAt(steps)}</span>
      </div>
    </figure>
  );
}

function firstStep(lines: readonly PlotLine[], { from, stepMs, since, lines: given }: Trend, steps: number) {
  const firsts = lines.map(({ line }) => given[line]?.findIndex((each) => each !== null) ?? -1);
  const known = Math.min(steps, ...firsts.filter((step) => step >= 0));
  const begun = since === undefined ? 0 : Math.floor((since - from) / stepMs);
  return Math.max(0, Math.min(begun, known, steps - Math.ceil(SHORTEST_MS / stepMs)));
}

/** Bars stand on each other, lines do not. */
function stackOf({ kind }: Plot, lines: readonly PlotLine[], { lines: given }: Trend, step: number) {
  let below = 0;
  return lines.flatMap(({ line, color }) => {
    const value = given[line]?.[step] ?? null;
    if (value === null) return [];
    const from = kind === 'bars' ? below : 0;
    below += value;
    return [{ color, from, to: from + value }];
  });
}

const format = (unit: Plot['unit'], value: number): string =>
  unit === 'ms' ? formatDuration(value) : value.toLocaleString('en-US');

function shownValue({ kind, unit }: Plot, line: readonly (number | null)[], hovered?: number): string {
  const known = line.filter((each) => each !== null);
  const total = known.length > 0 ? known.reduce((sum, each) => sum + each, 0) : undefined;
  const value = hovered !== undefined ? line[hovered] : kind === 'bars' ? total : known.at(-1);
  return value == null ? '–' : format(unit, value);
}

const descriptionOf = (plot: Plot, lines: readonly PlotLine[], trend: Trend): string =>
  `${plot.title}: ${lines.map(({ name, line }) => `${name} ${shownValue(plot, trend.lines[line] ?? [])}`).join(', ')}`;
