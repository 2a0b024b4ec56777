import { trace } from '@opentelemetry/api';
import { createRegistry, defineJob } from '../../lib/index.ts';
import { provider } from './spans-to-file.ts';

/** A jobs module that registers OpenTelemetry's SDK, and whose handler opens a span. */
const render = defineJob({
  type: 'render',
  async run({ crashes }) {
    await Promise.resolve();
    trace.getTracer('the user’s').startSpan('query').end();
    if (crashes === 0) process.exit(3);
  },
});

export const registry = createRegistry([render], { flush: () => provider.forceFlush() });
