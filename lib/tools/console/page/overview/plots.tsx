import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { listen, serverNow, state } from '../state.ts';
import { rates, readings, SPAN } from './plot-data.ts';

const HEIGHT = 76;

interface Plot {
  readonly title: string;
  readonly unit: string;
  readonly colour: string;
  /** Readings are lines; events are points. */
  readonly kind: 'line' | 'bars' | 'points';
  readonly data: (now: number) => readonly [readonly number[], readonly (number | null)[]];
  /** Why the numbers may be too low. */
  readonly atLeast?: () => string | undefined;
}

const plots: readonly Plot[] = [
  {
    title: 'Live leases',
    unit: '',
    colour: '--running',
    kind: 'line',
    data: (now) => readings(state.points, now, (point) => point.live),
  },
  {
    title: 'Waiting for a worker',
    unit: '',
    colour: '--pending',
    kind: 'line',
    data: (now) => readings(state.points, now, (point) => point.waiting),
  },
  {
    title: 'Done per second',
    unit: '',
    colour: '--done',
    kind: 'bars',
    data: (now) => rates(state.points, now, (point) => point.done),
    atLeast: () =>
      state.hello?.mode === 'account'
        ? 'As far as this console saw it: a job that is done between two looks is missing'
        : undefined,
  },
  {
    title: 'Reclaim delay',
    unit: ' s',
    colour: '--failed',
    kind: 'points',
    data: (now) => {
      const from = now - SPAN * 1000;
      const recent = state.reclaims.filter(({ at }) => at >= from).sort((a, b) => a.at - b.at);
      return [recent.map(({ at }) => at / 1000), recent.map(({ delayMs }) => delayMs / 1000)] as const;
    },
  },
];

export function Plots({ isChosen }: { readonly isChosen: boolean }) {
  return (
    <section class="panel plots" data-chosen={isChosen} aria-labelledby="plots-title">
      <h2 id="plots-title">Last five minutes</h2>
      {plots.map((plot) => (
        <PlotView key={plot.title} plot={plot} />
      ))}
    </section>
  );
}

function PlotView({ plot }: { readonly plot: Plot }) {
  const box = useRef<HTMLDivElement>(null);
  const latest = useRef<HTMLElement>(null);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    let chart = createChart(plot, element);
    const draw = () => {
      if (document.hidden || element.clientWidth === 0) return;
      const now = serverNow();
      const data = plot.data(now);
      chart.setData(data as unknown as uPlot.AlignedData, false);
      chart.setScale('x', { min: now / 1000 - SPAN, max: now / 1000 });
      const value = data[1].at(-1);
      const reason = plot.atLeast?.();
      if (latest.current === null) return;
      latest.current.textContent =
        value == null || (value === 0 && reason !== undefined)
          ? '–'
          : `${reason === undefined ? '' : '≥ '}${format(value, plot.unit)}`;
      latest.current.title = value == null ? 'None in the last five minutes' : (reason ?? '');
    };
    const renew = () => {
      chart.destroy();
      chart = createChart(plot, element);
      draw();
    };
    const resize = new ResizeObserver(() => {
      if (element.clientWidth > 0) chart.setSize({ width: element.clientWidth, height: HEIGHT });
      draw();
    });
    resize.observe(element);
    const timer = setInterval(draw, 1000);
    // When the clocks stop, the plots stop with them.
    const unlisten = [listen('series', draw), listen('connection', draw)];
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    addEventListener('themechange', renew);
    scheme.addEventListener('change', renew);
    draw();
    return () => {
      clearInterval(timer);
      for (const end of unlisten) end();
      resize.disconnect();
      removeEventListener('themechange', renew);
      scheme.removeEventListener('change', renew);
      chart.destroy();
    };
  }, [plot]);
  return (
    <figure class="plot">
      <figcaption>
        {plot.title} <b ref={latest}>–</b>
      </figcaption>
      <div ref={box} class="plot-box" role="img" aria-label={`${plot.title}, last five minutes`} />
    </figure>
  );
}

const format = (value: number, unit: string) =>
  `${Number.isInteger(value) ? value : value.toFixed(2)}${unit}`;

/** Resolves the color through an element, because a canvas cannot read light-dark(…). */
function colourOf(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function createChart(plot: Plot, element: HTMLElement): uPlot {
  const stroke = colourOf(plot.colour);
  const muted = colourOf('--muted');
  const grid = { stroke: colourOf('--line'), width: 1 };
  const axis = { stroke: muted, font: '11px system-ui', grid, ticks: { show: false } };
  const series: uPlot.Series =
    plot.kind === 'points'
      ? { stroke, width: 0, points: { show: true, size: 7, fill: stroke, stroke } }
      : {
          stroke,
          width: plot.kind === 'bars' ? 0 : 1.5,
          fill: plot.kind === 'bars' ? stroke : withAlpha(stroke, 0.14),
          points: { show: false },
          paths:
            plot.kind === 'bars'
              ? uPlot.paths.bars?.({ size: [0.9, 12, 2], align: 1 })
              : uPlot.paths.stepped?.({ align: 1 }),
        };
  return new uPlot(
    {
      width: Math.max(120, element.clientWidth),
      height: HEIGHT,
      padding: [8, 16, 0, 0],
      cursor: { show: false },
      legend: { show: false },
      scales: {
        x: { time: true },
        y: { range: (_chart, _min, max) => [0, Math.max(1, (max ?? 0) * 1.15)] },
      },
      axes: [
        { ...axis, size: 22, incrs: [60, 120, 300], space: 40, values: '{HH}:{mm}' },
        {
          ...axis,
          size: 40,
          space: 24,
          incrs: plot.unit === '' ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] : [0.5, 1, 2, 5, 10, 30, 60],
          values: (_chart, splits) => splits.map((v) => format(v, plot.unit)),
        },
      ],
      series: [{}, series],
    },
    [[], []],
    element,
  );
}

const withAlpha = (colour: string, alpha: number): string =>
  colour.startsWith('rgb(') ? colour.replace('rgb(', 'rgba(').replace(')', `, ${alpha})`) : colour;
