import { LogFormatter, Logger, LogItem } from '@aws-lambda-powertools/logger';
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import type { LogAttributes, UnformattedAttributes } from '@aws-lambda-powertools/logger/types';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { logMetrics } from '@aws-lambda-powertools/metrics/middleware';
import type { Telemetry } from '../protocol/ports.ts';
import type { Settings } from '../settings/settings.ts';
import {
  FLUSH_MS,
  LIMIT_DIMENSION,
  METRIC_NAMESPACE,
  type MetricName,
  metrics,
  POOL_DIMENSION,
  poolMetrics,
  TYPE_DIMENSION,
  typeMetrics,
  waitingMetrics,
} from '../wire/metrics.ts';

interface Middleware {
  before?(request: object): void;
  after?(request: object): void;
  onError?(request: object): void;
}

export interface PowertoolsTelemetry extends Telemetry {
  /** Adds the request ID to log lines; writes metrics every 10 s and at the end. */
  readonly middleware: Middleware[];
  flush(): void;
}

/** Logging must never fail a job. */
function harmlessly(tell: () => void): boolean {
  try {
    tell();
    return true;
  } catch {
    return false;
  }
}

/** The log group already names the function, and CloudWatch bills by the byte. */
class ShortLines extends LogFormatter {
  override formatAttributes(given: UnformattedAttributes, more: LogAttributes): LogItem {
    const attributes = {
      level: given.logLevel,
      message: given.message,
      timestamp: this.formatTimestamp(given.timestamp),
      service: given.serviceName,
      function_request_id: given.lambdaContext?.awsRequestId,
      xray_trace_id: given.xRayTraceId,
    };
    return new LogItem({ attributes }).addAttributes(more);
  }
}

/** Powertools warns when there is nothing to write. */
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Lambda drops lines below the function's level, and lines without a level count as INFO:
 * https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
 */
function atLevel(level: string | undefined, emitter: Metrics): Metrics {
  if (level === undefined || !['WARN', 'ERROR', 'FATAL'].includes(level)) return emitter;
  return emitter.addMetadata('level', level).addMetadata('timestamp', new Date().toISOString());
}

/** With the deployment as the dimension `service`. */
export function createPowertoolsTelemetry(options: {
  readonly serviceName: string;
  readonly logLevel?: Settings['logLevel'];
  readonly metricsByType?: boolean;
}): PowertoolsTelemetry {
  const { serviceName, logLevel, metricsByType = false } = options;
  const logger = new Logger({ serviceName, logLevel, logFormatter: new ShortLines() });
  const emitterOptions = { namespace: METRIC_NAMESPACE, serviceName, logger: silent };
  const emitter = new Metrics(emitterOptions);
  const lambdaLevel = process.env.AWS_LAMBDA_LOG_LEVEL;
  const add = (metric: MetricName, value: number) =>
    harmlessly(() => void atLevel(lambdaLevel, emitter).addMetric(metric, metrics[metric].unit, value));
  /** An EMF line has one set of dimensions. */
  const byDimension = new Map<string, Metrics>();
  const addTo = (dimension: string, value: string, add: (emitter: Metrics) => void) => {
    const key = `${dimension} ${value}`;
    const own =
      byDimension.get(key) ?? new Metrics({ ...emitterOptions, defaultDimensions: { [dimension]: value } });
    byDimension.set(key, own);
    harmlessly(() => add(atLevel(lambdaLevel, own)));
  };
  const timeOfType: Telemetry['timeOfType'] = (metric, type, ms) =>
    addTo(TYPE_DIMENSION, type, (own) => void own.addMetric(metric, typeMetrics[metric].unit, ms));
  const counts = new Map<MetricName, number>();
  const throttled = new Map<string, number>();
  const log = (level: 'info' | 'warn' | 'error', message: string, fields: () => LogAttributes) => {
    if (!harmlessly(() => logger[level](message, fields()))) harmlessly(() => logger[level](message));
  };
  const publish = (each: Metrics) => harmlessly(() => void each.publishStoredMetrics());
  const collect = () => {
    for (const [metric, value] of counts) add(metric, value);
    counts.clear();
    const { unit } = metrics.RequestsThrottled;
    for (const [limit, value] of throttled)
      addTo(LIMIT_DIMENSION, limit, (own) => void own.addMetric('RequestsThrottled', unit, value));
    throttled.clear();
    for (const each of byDimension.values()) publish(each);
  };
  const flush = () => {
    collect();
    publish(emitter);
  };
  let timer: NodeJS.Timeout | undefined;
  const collectLast = () => {
    clearInterval(timer);
    collect();
  };
  const flushRegularly: Middleware = {
    before: () => {
      timer = setInterval(flush, FLUSH_MS).unref();
    },
    after: collectLast,
    onError: collectLast,
  };
  return {
    // Middleware ends in reverse order, so sums are added before Powertools writes.
    middleware: [injectLambdaContext(logger), logMetrics(emitter), flushRegularly],
    info: (message, fields = {}) => log('info', message, () => ({ ...fields })),
    warn: (message, fields = {}) => log('warn', message, () => ({ ...fields })),
    error: (message, error, fields = {}) =>
      log('error', message, () => ({
        ...fields,
        error: error instanceof Error ? error : new Error(String(error)),
      })),
    count: (metric, value = 1) => void counts.set(metric, (counts.get(metric) ?? 0) + value),
    gauge: (metric, value) => void add(metric, value),
    countThrottled: (limit, requests) => void throttled.set(limit, (throttled.get(limit) ?? 0) + requests),
    timeOfType: metricsByType ? timeOfType : undefined,
    gaugeOfType: (metric, type, value) =>
      addTo(TYPE_DIMENSION, type, (own) => void own.addMetric(metric, waitingMetrics[metric].unit, value)),
    gaugeOfPool: (metric, pool, value) =>
      addTo(POOL_DIMENSION, pool, (own) => void own.addMetric(metric, poolMetrics[metric].unit, value)),
    flush,
  };
}
