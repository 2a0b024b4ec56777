import { typeMetrics } from '../../wire/metrics.ts';
import { type CostLine, IDLE_POLLS_A_MONTH } from './bill.ts';
import type { Prices } from './prices.ts';

/** What a deployment pays for to be watched, and for standing ready. */
export interface Watching {
  readonly dashboard?: boolean;
  readonly tracing?: boolean;
  /** Job types whose wait and run time are measured. @default - none */
  readonly typesMeasured?: number;
}

/** Metrics that the stack's alarms watch: each is billed. test/cdk/operations.test.ts counts them. @internal */
export const ALARM_METRICS = 15;
/** Custom metrics of our own: one always, a few more while jobs run. Others exist only in hours with something to tell. */
const METRICS_ALWAYS = 1;
const METRICS_WHILE_BUSY = 3;
/** What one job leaves in the log: its line, and its share of the invocation's metrics. CloudWatch adds 26 bytes to each. @internal */
export const LOG_LINE_BYTES = { job: 340, invocation: 280, type: 330 } as const;
const METRICS_A_TYPE = Object.keys(typeMetrics).length;
const GB = 1e9;

export function operationsBill(
  load: {
    readonly jobs: number;
    /** Lines with metrics: one or two for each invocation of the worker. */
    readonly metricLines: number;
    readonly storedGb: number;
    /** Retries and reclaims, which are told to EventBridge. */
    readonly events: number;
    readonly onLambda: boolean;
  },
  { dashboard = false, tracing = false, typesMeasured = 0 }: Watching,
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
    line('traces', tracing ? jobs : 0, 'traces', tracing ? (jobs * prices.perMillionTraces) / 1e6 : 0),
  ].filter(({ amount }) => amount > 0);
}
