import { useEffect, useState } from 'preact/hooks';
import { formatDuration } from '../../../inspect/format-duration.ts';
import { type Trend, type TrendLine, type TrendSpan, trendSpans } from '../../page-messages.ts';
import { fetchTrend } from '../api.ts';
import { timeOfMinute } from '../format.ts';
import { isCutOff, listen, state, useTopic } from '../state.ts';
import { Chart } from './chart.tsx';

/** Reading memory is free; CloudWatch has news once a minute. */
const EVERY_MS = { memory: 5_000, CloudWatch: 60_000 } as const;

const spanNames: Readonly<Record<TrendSpan, string>> = { '1h': 'hour', '6h': '6 hours', '1d': 'day' };

export interface PlotLine {
  readonly name: string;
  readonly line: TrendLine;
  readonly color: string;
}
export interface Plot {
  readonly title: string;
  readonly lines: readonly PlotLine[];
  readonly kind: 'bars' | 'line';
  readonly unit: 'count' | 'ms';
}

const plots: readonly Plot[] = [
  {
    title: 'Finished',
    kind: 'bars',
    unit: 'count',
    lines: [
      { name: 'done', line: 'done', color: '--done' },
      { name: 'failed', line: 'failed', color: '--failed' },
    ],
  },
  {
    title: 'Lost workers',
    kind: 'bars',
    unit: 'count',
    lines: [
      { name: 'crashed', line: 'crashed', color: '--failed' },
      { name: 'reclaimed', line: 'reclaimed', color: '--pending' },
    ],
  },
  {
    title: 'Running',
    kind: 'line',
    unit: 'count',
    lines: [{ name: 'running', line: 'running', color: '--running' }],
  },
  {
    title: 'Waiting in the queue',
    kind: 'line',
    unit: 'count',
    lines: [{ name: 'messages', line: 'waiting', color: '--queued' }],
  },
  {
    title: 'Time in the queue',
    kind: 'line',
    unit: 'ms',
    lines: [{ name: 'oldest message', line: 'ageMs', color: '--queued' }],
  },
];

function useTrend(span: TrendSpan): Trend | undefined {
  const [trend, setTrend] = useState<Trend>();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLeft = false;
    const load = async () => {
      clearTimeout(timer);
      const isStill = document.hidden || state.connection !== 'live' || isCutOff();
      const found = isStill ? undefined : await fetchTrend(span);
      if (isLeft) return;
      if (found !== undefined) setTrend(found);
      timer = setTimeout(
        load,
        EVERY_MS[found?.problem === undefined ? (found?.source ?? 'memory') : 'CloudWatch'],
      );
    };
    void load();
    const unlisten = listen('connection', () => void load());
    return () => {
      isLeft = true;
      clearTimeout(timer);
      unlisten();
    };
  }, [span]);
  return trend;
}

export function History({ isChosen }: { readonly isChosen: boolean }) {
  useTopic('connection');
  const [span, setSpan] = useState<TrendSpan>('1h');
  const trend = useTrend(span);
  return (
    <section class="panel history" data-chosen={isChosen} aria-labelledby="history-title">
      <h2 id="history-title">
        History
        <span class="spans" role="toolbar" aria-label="Show the last">
          {(Object.keys(trendSpans) as TrendSpan[]).map((name) => (
            <button key={name} type="button" aria-pressed={span === name} onClick={() => setSpan(name)}>
              {spanNames[name]}
            </button>
          ))}
        </span>
      </h2>
      {trend?.problem !== undefined && <p class="history-note">{trend.problem}.</p>}
      {plots
        .filter(({ lines }) => lines.some(({ line }) => trend?.lines[line] !== undefined))
        .map((plot) => (
          <Chart key={`${plot.title}-${span}`} plot={plot} trend={trend as Trend} />
        ))}
      {trend !== undefined && <p class="history-note">{sourceOf(trend)}</p>}
    </section>
  );
}

function sourceOf({ source, since, from, stepMs }: Trend): string {
  const step = `One bar is ${formatDuration(stepMs)}.`;
  if (source === 'CloudWatch') return `${step} From CloudWatch, which lags by one to three minutes.`;
  return since === undefined || since <= from
    ? `${step} From what this console saw.`
    : `${step} This console started at ${timeOfMinute(since)}; older data comes from the rows it found.`;
}
