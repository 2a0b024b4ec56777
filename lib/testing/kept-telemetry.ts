import type { Telemetry } from '../protocol/ports.ts';
import type { MetricName } from '../wire/metrics.ts';

interface KeptLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Telemetry that is kept in memory for assertions. */
export interface KeptTelemetry extends Telemetry {
  readonly lines: readonly KeptLine[];
  /** A metric's values so far. */
  values(metric: MetricName): readonly number[];
  /** Their sum. */
  total(metric: MetricName): number;
}

/** Telemetry that keeps metrics and log lines for a test to look at. */
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
