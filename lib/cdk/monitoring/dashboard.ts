import { Duration } from 'aws-cdk-lib';
import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type GraphWidgetProps,
  type IMetric,
  type IWidget,
  LogQueryWidget,
  MathExpression,
  PeriodOverride,
  SingleValueWidget,
  Stats,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { reclaimDelayBound, recoveryBound } from '../../settings/recovery-bound.ts';
import {
  LIMIT_DIMENSION,
  METRIC_DIMENSION,
  METRIC_NAMESPACE,
  TYPE_DIMENSION,
  typeMetrics,
} from '../../wire/metrics.ts';
import { byLease } from '../../wire/table.ts';
import type { MeteredConstruct } from './metered-construct.ts';
import { type ThrottleMetric, throttleMetric } from './throttle-metric.ts';
import type { Watched } from './watched.ts';

const MINUTE = Duration.minutes(1);
const COLUMNS = 24;
const seconds = (ms: number): string => `${(ms / 1000).toLocaleString('en')} s`;

export interface DashboardSubject extends Watched {
  readonly alarms: Readonly<Record<string, Alarm>>;
  readonly workerLogs: string | undefined;
}

export function createDashboard(scope: Construct, subject: DashboardSubject): Dashboard {
  return new Dashboard(scope, 'Dashboard', {
    defaultInterval: Duration.hours(3),
    periodOverride: PeriodOverride.AUTO,
    widgets: [
      ...header(subject),
      row(...runningGraphs(subject)),
      row(...waitingGraphs(subject)),
      row(...typeGraphs(subject)),
      [...row(...failureGraphs(subject)), ...failuresByType(subject)],
      row(...crashGraphs(subject)),
      crashesByCause(subject),
      row(...internalGraphs(subject)),
    ].filter((widgets) => widgets.length > 0),
  });
}

const row = (...graphs: GraphWidgetProps[]): IWidget[] =>
  graphs.map((graph) => new GraphWidget({ width: COLUMNS / graphs.length, height: 6, ...graph }));

const graph = (title: string, left: IMetric[], more: GraphWidgetProps = {}): GraphWidgetProps => ({
  title,
  left,
  leftYAxis: { min: 0 },
  ...more,
});

function header({ metered, settings, alarms, deadLetterQueue }: DashboardSubject): IWidget[][] {
  const bound = recoveryBound(settings);
  return [
    [
      new SingleValueWidget({
        title: 'Reclaims in the chosen time range',
        width: COLUMNS / 2,
        height: 4,
        setPeriodToTimeRange: true,
        metrics: [
          metered.metric('JobsReclaimed', { label: 'jobs reclaimed' }),
          metered.metric('ReclaimDelay', { statistic: Stats.p(50), label: 'delay p50, ms' }),
          metered.metric('ReclaimDelay', { statistic: Stats.p(99), label: 'delay p99, ms' }),
          metered.metric('ReclaimDelay', { statistic: Stats.MAXIMUM, label: 'longest delay, ms' }),
        ],
      }),
      new AlarmStatusWidget({
        title: 'Alarms',
        width: COLUMNS / 2,
        height: 4,
        alarms: Object.values(alarms),
      }),
    ],
    [
      new TextWidget({
        width: COLUMNS / 2,
        height: 4,
        markdown: `# ${metered.serviceName}\nA crashed worker's job is reclaimed within **${seconds(bound.usualMs)}**, or ${seconds(bound.worstMs)} if the reaper dies as well. Lease ${seconds(settings.leaseMs)}, heartbeat ${seconds(settings.heartbeatMs)}.`,
      }),
      new SingleValueWidget({
        title: 'Now',
        width: COLUMNS / 2,
        height: 4,
        metrics: [
          metered.metric('LeasesLive', { period: MINUTE, label: 'live leases' }),
          metered.metric('JobsFailed', { period: MINUTE, label: 'failed' }),
          deadLetterQueue.metricApproximateNumberOfMessagesVisible({ period: MINUTE, label: 'dead letters' }),
        ],
      }),
    ],
  ];
}

function runningGraphs({ metered }: DashboardSubject): GraphWidgetProps[] {
  const counts = { period: MINUTE };
  return [
    graph('Jobs started and ended', [
      metered.metric('JobsClaimed', counts),
      metered.metric('JobsDone', counts),
      metered.metric('JobsReleased', counts),
      metered.metric('JobsCancelled', counts),
      metered.metric('JobsParked', counts),
      metered.metric('KeysMissing', counts),
    ]),
    graph('Running jobs (counted every 5 minutes)', [
      metered.metric('LeasesLive', { period: Duration.minutes(5) }),
    ]),
  ];
}

function waitingGraphs({ metered, queue, deadLetterQueue, pools }: DashboardSubject): GraphWidgetProps[] {
  const state = { period: MINUTE, statistic: Stats.MAXIMUM };
  const named = Object.entries(pools);
  const wanted = named.flatMap(([pool, { service }]) =>
    service === undefined
      ? []
      : [metered.metricOfPool('TasksWanted', pool, { period: MINUTE, label: `containers of ${pool}` })],
  );
  return [
    graph('Age of the oldest message, s', [
      queue.metricApproximateAgeOfOldestMessage({ ...state, label: 'oldest message' }),
      ...named.map(([pool, each]) =>
        each.queue.metricApproximateAgeOfOldestMessage({ ...state, label: `oldest of ${pool}` }),
      ),
    ]),
    graph('Messages', [
      queue.metricApproximateNumberOfMessagesVisible({ ...state, label: 'waiting' }),
      queue.metricApproximateNumberOfMessagesNotVisible({ ...state, label: 'with a worker' }),
      queue.metricApproximateNumberOfMessagesDelayed({ ...state, label: 'delayed' }),
      deadLetterQueue.metricApproximateNumberOfMessagesVisible({ ...state, label: 'dead letters' }),
      ...named.map(([pool, each]) =>
        each.queue.metricApproximateNumberOfMessagesVisible({ ...state, label: `waiting for ${pool}` }),
      ),
    ]),
    graph(
      'Jobs waiting for a limit or a paused type',
      [
        metricBy(metered, TYPE_DIMENSION, 'JobsWaiting', Stats.MAXIMUM),
        metered.metric('TypesPaused', { period: MINUTE }),
      ],
      { right: [metricBy(metered, TYPE_DIMENSION, 'OldestWait', Stats.MAXIMUM)] },
    ),
    ...(wanted.length === 0 ? [] : [graph('Containers wanted', wanted)]),
  ];
}

/** CloudWatch finds the values of the dimension itself. */
const metricBy = (metered: MeteredConstruct, dimension: string, name: string, stat: string) =>
  new MathExpression({
    expression: `SEARCH('{${METRIC_NAMESPACE},${METRIC_DIMENSION},${dimension}} MetricName="${name}" ${METRIC_DIMENSION}="${metered.serviceName}"', '${stat}')`,
    usingMetrics: {},
    label: name,
    period: MINUTE,
  });

const typeGraphs = ({ metered, settings }: DashboardSubject): GraphWidgetProps[] =>
  settings.metricsByType
    ? Object.keys(typeMetrics).map((name) =>
        graph(`${name} by type, ms`, [metricBy(metered, TYPE_DIMENSION, name, 'p90')]),
      )
    : [];

function failureGraphs({ metered }: DashboardSubject): GraphWidgetProps[] {
  const counts = { period: MINUTE };
  return [
    graph(
      'Failures',
      [
        metered.metric('JobsFailed', counts),
        metered.metric('JobsRetried', counts),
        metered.metric('MessagesRejected', counts),
        metered.metric('TicksLate', counts),
        metered.metric('RowsTooNew', counts),
        metered.metric('MessagesReturned', counts),
        metered.metric('MessagesForwarded', counts),
        metered.metric('StoreFailures', counts),
      ],
      { width: COLUMNS / 2 },
    ),
  ];
}

const askLog = (
  { workerLogs }: DashboardSubject,
  title: string,
  width: number,
  filter: string,
  by: string,
) => {
  if (workerLogs === undefined) return [];
  const queryLines = [`filter ${filter}`, `stats count(*) as runs by ${by}`, 'sort runs desc', 'limit 20'];
  return [new LogQueryWidget({ title, width, height: 6, logGroupNames: [workerLogs], queryLines })];
};

const failuresByType = (subject: DashboardSubject): IWidget[] =>
  askLog(
    subject,
    'Failures and retries by type',
    COLUMNS / 2,
    'message = "run ended" and outcome in ["failed", "retried", "lost"]',
    'type, outcome',
  );

const crashesByCause = (subject: DashboardSubject): IWidget[] =>
  askLog(subject, 'Crashes by type and cause', COLUMNS, 'message = "attempt crashed"', 'type, cause');

function crashGraphs({ metered, settings }: DashboardSubject): GraphWidgetProps[] {
  const delayBound = reclaimDelayBound(settings);
  return [
    graph('Crashes and reclaims', [
      metered.metric('JobsCrashed', { period: MINUTE }),
      metered.metric('CellsDied', { period: MINUTE }),
      metered.metric('CellsUnready', { period: MINUTE }),
      metered.metric('JobsRestarted', { period: MINUTE }),
      metered.metric('CrashThrottleOn', { period: MINUTE }),
      metered.metric('JobsReclaimed', { period: MINUTE }),
      metered.metric('JobsQuarantined', { period: MINUTE }),
    ]),
    graph(
      'Reclaim delay, ms',
      [
        metered.metric('ReclaimDelay', { period: MINUTE, statistic: Stats.p(50), label: 'p50' }),
        metered.metric('ReclaimDelay', { period: MINUTE, statistic: Stats.p(99), label: 'p99' }),
      ],
      { leftAnnotations: [{ value: delayBound, label: `bound ${seconds(delayBound)}`, color: '#d62728' }] },
    ),
    graph('Oldest lapsed lease, ms', [metered.metric('OldestLapsedLease', { period: MINUTE })], {
      right: [metered.metric('ReaperLate', { period: MINUTE, label: 'reaper late' })],
    }),
  ];
}

function internalGraphs({ metered, functions, table }: DashboardSubject): GraphWidgetProps[] {
  const named = Object.entries(functions).flatMap(([name, fn]) =>
    fn === undefined ? [] : [[name, fn] as const],
  );
  const counts = { period: MINUTE };
  const throttled = (metricName: ThrottleMetric, index?: string) =>
    throttleMetric(table, metricName, index, {
      period: MINUTE,
      label: `${index ?? 'table'} ${metricName === 'WriteThrottleEvents' ? 'writes' : 'reads'}`,
    });
  return [
    graph('Sweeps, ms', [metered.metric('SweepDuration', { period: MINUTE, label: 'p99' })]),
    graph(
      'Function errors',
      named.map(([name, fn]) => fn.metricErrors({ period: MINUTE, label: name })),
    ),
    graph('Throttles', [
      ...named.map(([name, fn]) => fn.metricThrottles({ period: MINUTE, label: name })),
      metered.metric('RequestsThrottled', { period: MINUTE, label: 'seen by clients' }),
      metricBy(metered, LIMIT_DIMENSION, 'RequestsThrottled', 'Sum'),
      throttled('WriteThrottleEvents'),
      throttled('ReadThrottleEvents'),
      throttled('WriteThrottleEvents', byLease.name),
      throttled('ReadThrottleEvents', byLease.name),
    ]),
    graph('Leases lost, fenced writes, clocks', [
      metered.metric('WritesFenced', counts),
      metered.metric('LeasesLost', counts),
      metered.metric('LateCompletions', counts),
      metered.metric('HintsSent', counts),
      metered.metric('ClockOffset', counts),
    ]),
  ];
}
