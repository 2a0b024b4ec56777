import type { Telemetry } from '../protocol/ports.ts';
import type { MetricName } from '../wire/metrics.ts';

interface KeptLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Telemetry kept in memory for assertions. */
export interface KeptTelemetry extends Telemetry {
  readonly lines: readonly KeptLine[];
  values(metric: MetricName): readonly number[];
  total(metric: MetricName): number;
}

/** Creates telemetry that keeps metrics and log lines. */
export function createKeptTelemetry(): KeptTelemetry {
  const lines: KeptLine[] = [];
  const kept = new Map<MetricName, number[]>();
  const values = (metric: MetricName) => kept.get(metric) ?? [];
  const add = (metric: MetricName, value: number) => {
    const before = kept.get(metric);
    if (before === undefined) kept.set(metric, [value]);
    else before.push(value);
  };
  return {
    lines,
    values,
    total: (metric) => values(metric).reduce((sum, value) => sum + value, 0),
    info: (message, fields = {}) => void lines.push({ level: 'info', message, fields }),
    warn: (message, fields = {}) => void lines.push({ level: 'warn', message, fields }),
    error: (message, error, fields = {}) =>
      void lines.push({ level: 'error', message, fields: { ...fields, error } }),
    count: (metric, value = 1) => add(metric, value),
    gauge: add,
  };
}
