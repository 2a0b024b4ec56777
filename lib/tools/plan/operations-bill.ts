import { typeMetrics } from '../../wire/metrics.ts';
import { type CostLine, IDLE_POLLS_A_MONTH, SECONDS_A_MONTH } from './bill.ts';
import type { PoolLoad } from './pool-bill.ts';
import type { Prices } from './prices.ts';

export interface Watching {
  /** Availability zones of the functions' VPC. @default - no VPC */
  readonly vpcZones?: number;
  /** Whether a customer-managed key encrypts the table, queues and logs. */
  readonly customerKey?: boolean;
  /** Whether the dashboard is paid for; an account's first three are free. */
  readonly dashboard?: boolean;
  readonly tracing?: boolean;
  /** Job types with per-type metrics. @default - none */
  readonly typesMeasured?: number;
  readonly pools?: PoolLoad;
}

/** Metrics that the stack's alarms watch, each billed; test/cdk/operations.test.ts counts them. @internal */
export const ALARM_METRICS = 16;
/** Other custom metrics exist only in hours in which they are reported. */
const METRICS_ALWAYS = 1;
const METRICS_WHILE_BUSY = 3;
/** Bytes that a job and its share of the metrics add to the log; CloudWatch adds 26 per line. @internal */
export const LOG_LINE_BYTES = { job: 340, invocation: 280, type: 330 } as const;
const METRICS_A_TYPE = Object.keys(typeMetrics).length;
const GB = 1e9;
/** SQS and EventBridge; DynamoDB's gateway endpoint is free. */
const INTERFACE_ENDPOINTS = 2;
/** DynamoDB, SQS and CloudWatch Logs request a data key about every five minutes. */
const KEY_REQUESTS_A_MONTH = (3 * SECONDS_A_MONTH) / 300;

export function operationsBill(
  load: {
    readonly jobs: number;
    readonly metricLines: number;
    readonly storedGb: number;
    readonly events: number;
    readonly onLambda: boolean;
  },
  { dashboard = false, tracing = false, typesMeasured = 0, vpcZones = 0, customerKey = false }: Watching,
  prices: Prices,
): CostLine[] {
  const { jobs, metricLines, storedGb, events } = load;
  const line = (what: string, amount: number, unit: string, dollars: number): CostLine => ({
    group: 'operations',
    what,
    amount,
    unit,
    dollars,
  });
  const metrics = METRICS_ALWAYS + (jobs > 0 ? METRICS_WHILE_BUSY : 0);
  const logged =
    (jobs * LOG_LINE_BYTES.job +
      metricLines * (LOG_LINE_BYTES.invocation + (typesMeasured > 0 ? LOG_LINE_BYTES.type : 0))) /
    GB;
  const endpointHours = (INTERFACE_ENDPOINTS * vpcZones * SECONDS_A_MONTH) / 3600;
  const keyRequests = customerKey ? KEY_REQUESTS_A_MONTH : 0;
  const polls = IDLE_POLLS_A_MONTH.shrinking + (load.onLambda ? IDLE_POLLS_A_MONTH.limited : 0);
  return [
    line('alarms', ALARM_METRICS, 'metrics', ALARM_METRICS * prices.perAlarmMetric),
    line(
      'metrics by type',
      typesMeasured * METRICS_A_TYPE,
      'metrics',
      typesMeasured * METRICS_A_TYPE * prices.perCustomMetric,
    ),
    line('custom metrics', metrics, 'metrics', metrics * prices.perCustomMetric),
    line('idle polls of the other queues', polls, 'requests', (polls * prices.perMillionQueueRequests) / 1e6),
    line('logs of jobs', logged, 'GB', logged * prices.perLoggedGb),
    line('backups (point in time)', storedGb, 'GB', storedGb * prices.perBackupGbMonth),
    line('events', events, 'events', (events * prices.perMillionEvents) / 1e6),
    line('dashboard', dashboard ? 1 : 0, 'dashboards', dashboard ? prices.perDashboard : 0),
    line('VPC endpoints', endpointHours, 'hours', endpointHours * prices.perEndpointHour),
    line(
      'customer-managed key',
      keyRequests,
      'requests',
      (customerKey ? prices.perKeyMonth : 0) + (keyRequests * prices.perMillionKeyRequests) / 1e6,
    ),
    line('traces', tracing ? jobs : 0, 'traces', tracing ? (jobs * prices.perMillionTraces) / 1e6 : 0),
  ].filter(({ amount }) => amount > 0);
}
