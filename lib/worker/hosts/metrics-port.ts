import type { PowertoolsTelemetry } from '../../aws/telemetry.ts';
import { type MetricName, metrics, stateMetrics } from '../../wire/metrics.ts';

export function createMetricsPage(service: string) {
  const values = new Map<MetricName, { sum: number; readings: number }>();
  const add = (metric: MetricName, value: number) => {
    const { sum, readings } = values.get(metric) ?? { sum: 0, readings: 0 };
    values.set(metric, { sum: stateMetrics.includes(metric) ? value : sum + value, readings: readings + 1 });
  };
  return {
    counting: (telemetry: PowertoolsTelemetry): PowertoolsTelemetry => ({
      ...telemetry,
      count(metric, value = 1) {
        add(metric, value);
        telemetry.count(metric, value);
      },
      gauge(metric, value) {
        add(metric, value);
        telemetry.gauge(metric, value);
      },
    }),
    text: (running: number): string =>
      [
        ...series('leasehold_running_jobs', 'gauge', 'jobs that run in this process now', [['', running]]),
        ...[...values].flatMap(([metric, value]) => seriesOf(metric, value)),
        '',
      ]
        .join('\n')
        .replaceAll('{}', `{service="${service.replaceAll(/["\\\n]/g, '_')}"}`),
  };
}

const series = (
  name: string,
  kind: string,
  says: string,
  samples: readonly (readonly [suffix: string, value: number])[],
): string[] => [
  `# HELP ${name} ${says}`,
  `# TYPE ${name} ${kind}`,
  ...samples.map(([suffix, value]) => `${name}${suffix}{} ${value}`),
];

function seriesOf(
  metric: MetricName,
  { sum, readings }: { readonly sum: number; readonly readings: number },
) {
  const { unit, description: says } = metrics[metric];
  const name = `leasehold_${metric.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase()}`;
  const isState = stateMetrics.includes(metric);
  if (unit === 'Milliseconds')
    return isState
      ? series(`${name}_seconds`, 'gauge', says, [['', sum / 1000]])
      : series(`${name}_seconds`, 'summary', says, [
          ['_sum', sum / 1000],
          ['_count', readings],
        ]);
  return isState
    ? series(name, 'gauge', says, [['', sum]])
    : series(`${name}_total`, 'counter', says, [['', sum]]);
}
