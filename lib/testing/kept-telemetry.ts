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
  /** The sum of a metric's values so far. */
  total(metric: MetricName): number;
}

export function createKeptTelemetry(): KeptTelemetry {
  const lines: KeptLine[] = [];
  const totals = new Map<MetricName, number>();
  const add = (metric: MetricName, value: number) =>
    void totals.set(metric, (totals.get(metric) ?? 0) + value);
  return {
    lines,
    total: (metric) => totals.get(metric) ?? 0,
    info: (message, fields = {}) => void lines.push({ level: 'info', message, fields }),
    warn: (message, fields = {}) => void lines.push({ level: 'warn', message, fields }),
    error: (message, error, fields = {}) =>
      void lines.push({ level: 'error', message, fields: { ...fields, error } }),
    count: (metric, value = 1) => add(metric, value),
    gauge: add,
  };
}
