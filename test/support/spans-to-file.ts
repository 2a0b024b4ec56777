import { appendFileSync } from 'node:fs';
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-node';

const file = process.env.SPANS_FILE ?? '';

/** Each span as a line: its name, IDs, attributes, and the process that opened it. */
const lineOf = (span: ReadableSpan): string =>
  `${JSON.stringify({
    ...{ name: span.name, pid: process.pid, attributes: span.attributes, status: span.status },
    ...{ trace: span.spanContext().traceId, id: span.spanContext().spanId },
    parent: span.parentSpanContext?.spanId,
  })}\n`;

const exporter: SpanExporter = {
  export(spans, done) {
    appendFileSync(file, spans.map(lineOf).join(''));
    done({ code: 0 });
  },
  shutdown: async () => {},
};

/** The SDK of an application: it exports when it is flushed, or after this time. */
const scheduledDelayMillis = Number(process.env.SPANS_DELAY_MS ?? 60_000);
export const provider = new NodeTracerProvider({
  spanProcessors: [new BatchSpanProcessor(exporter, { scheduledDelayMillis })],
});
provider.register();
