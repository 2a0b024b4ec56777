import type { Events, Telemetry } from '../../lib/protocol/ports.ts';

/** Nobody reads logs and metrics of thousands of schedules. */
export const silentTelemetry: Telemetry = {
  info: () => {},
  warn: () => {},
  error: () => {},
  count: () => {},
  gauge: () => {},
};

export const silentEvents: Events = { publish: async () => {} };
