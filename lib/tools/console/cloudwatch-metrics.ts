import { lastHourOf } from '../inspect/last-hour.ts';
import { type Trend, type TrendLine, type TrendSpan, trendSpans } from './page-messages.ts';
import type { Metrics } from './start-console.ts';

type Line = readonly (number | null)[];

interface PublishedLines {
  readonly from: number;
  readonly lines: Readonly<Record<string, Line>>;
}

const counts = ['done', 'failed', 'crashed', 'reclaimed'] as const satisfies readonly TrendLine[];

const NO_SERVICE = 'Its metrics are unknown: export LEASEHOLD_SERVICE_NAME (the stack’s output ServiceName)';

export function cloudWatchMetrics(
  read: (ms: number, stepMs: number) => Promise<PublishedLines>,
  hasService: boolean,
): Metrics {
  const published = (span: TrendSpan) => read(trendSpans[span].ms, trendSpans[span].stepMs);
  return {
    async trend(span): Promise<Trend> {
      const { from, lines } = await published(span);
      const { stepMs } = trendSpans[span];
      const { running, waiting, ageSeconds } = lines;
      const ageMs = ageSeconds?.map((seconds) => seconds && seconds * 1000);
      return {
        from,
        stepMs,
        source: 'CloudWatch',
        problem: hasService ? undefined : NO_SERVICE,
        lines: hasService
          ? {
              ...Object.fromEntries(counts.map((name) => [name, counted(lines, name)])),
              running,
              waiting,
              ageMs,
            }
          : { waiting, ageMs },
      };
    },
    lastHour: async () => lastHourOf((await published('1h')).lines, hasService),
  };
}

/** Counts are published only when something happened; a step in which anything was published has none otherwise. */
function counted(lines: Readonly<Record<string, Line>>, name: string): (number | null)[] {
  const ownLines = Object.entries(lines).filter(([id]) => !['waiting', 'ageSeconds', 'refused'].includes(id));
  const line = lines[name] ?? [];
  const steps = Math.max(0, ...ownLines.map(([, each]) => each.length));
  return Array.from({ length: steps }, (_, i) => {
    const isAlive = ownLines.some(([, each]) => (each[i] ?? null) !== null);
    return line[i] ?? (isAlive ? 0 : null);
  });
}
