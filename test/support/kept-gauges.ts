import type { Telemetry } from '../../lib/protocol/ports.ts';
import { createKeptTelemetry } from '../../lib/testing/kept-telemetry.ts';

/** Telemetry that keeps the gauges by type, as `[metric, type, value]`. */
export function keptGauges() {
  const byType: [string, string, number][] = [];
  const telemetry = createKeptTelemetry();
  const gaugeOfType: Telemetry['gaugeOfType'] = (...given) => void byType.push(given);
  return { telemetry: { ...telemetry, gaugeOfType }, byType };
}
