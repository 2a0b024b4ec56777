import { Logger } from '@aws-lambda-powertools/logger';
import type { LogAttributes } from '@aws-lambda-powertools/logger/types';
import { Metrics } from '@aws-lambda-powertools/metrics';
import type { Telemetry } from '../protocol/ports.ts';
import type { Settings } from '../settings/settings.ts';
import type { LambdaContext } from '../wire/lambda.ts';
import { METRIC_NAMESPACE, type MetricName, metrics, TYPE_DIMENSION, typeMetrics } from '../wire/metrics.ts';

export interface PowertoolsTelemetry extends Telemetry {
  /** Puts the invocation's request id and function into every line from now on. */
  nameRequest(context: Pick<LambdaContext, 'awsRequestId'>): void;
  /** Writes the metrics gathered so far as one EMF line. Lambda hosts do so at the end of an invocation. */
  flush(): void;
}

/** Whether it worked. No job and no sweep fails because something could not be logged. */
function harmlessly(tell: () => void): boolean {
  try {
    tell();
    return true;
  } catch {
    return false;
  }
}

/** Structured logs and EMF metrics by Powertools. The dimension `service` is the deployment's name. */
export function createPowertoolsTelemetry(options: {
  readonly serviceName: string;
  /** @default INFO */
  readonly logLevel?: Settings['logLevel'];
  /** @default false */
  readonly metricsByType?: boolean;
}): PowertoolsTelemetry {
  const { serviceName, logLevel, metricsByType = false } = options;
  const logger = new Logger({ serviceName, logLevel });
  const emitter = new Metrics({ namespace: METRIC_NAMESPACE, serviceName });
  const add = (metric: MetricName, value: number) =>
    harmlessly(() => void emitter.addMetric(metric, metrics[metric].unit, value));
  /** One for each type: a line of metrics has one set of dimensions. */
  const byType = new Map<string, Metrics>();
  const timeOfType: Telemetry['timeOfType'] = (metric, type, ms) => {
    const ofType =
      byType.get(type) ??
      new Metrics({
        namespace: METRIC_NAMESPACE,
        serviceName,
        defaultDimensions: { [TYPE_DIMENSION]: type },
      });
    byType.set(type, ofType);
    harmlessly(() => void ofType.addMetric(metric, typeMetrics[metric].unit, ms));
  };
  /** Added up until the line is written: a thousand ones say no more than their sum. */
  const counts = new Map<MetricName, number>();
  const log = (level: 'info' | 'warn' | 'error', message: string, fields: () => LogAttributes) => {
    if (!harmlessly(() => logger[level](message, fields()))) harmlessly(() => logger[level](message));
  };
  return {
    nameRequest: (context) =>
      void harmlessly(() => logger.appendKeys({ function_request_id: context.awsRequestId })),
    info: (message, fields = {}) => log('info', message, () => ({ ...fields })),
    warn: (message, fields = {}) => log('warn', message, () => ({ ...fields })),
    error: (message, error, fields = {}) =>
      log('error', message, () => ({
        ...fields,
        error: error instanceof Error ? error : new Error(String(error)),
      })),
    count: (metric, value = 1) => void counts.set(metric, (counts.get(metric) ?? 0) + value),
    gauge: (metric, value) => void add(metric, value),
    timeOfType: metricsByType ? timeOfType : undefined,
    flush: () => {
      for (const [metric, value] of counts) add(metric, value);
      counts.clear();
      // Powertools warns of an empty line, and callers flush whenever something may have been gathered.
      for (const each of [emitter, ...byType.values()])
        harmlessly(() => void (each.hasStoredMetrics() && each.publishStoredMetrics()));
    },
  };
}
