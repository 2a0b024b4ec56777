import { Duration } from 'aws-cdk-lib';
import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type GraphWidgetProps,
  type IMetric,
  type IWidget,
  Metric,
  PeriodOverride,
  SingleValueWidget,
  Stats,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { reclaimDelayBound, recoveryBound } from '../settings/recovery-bound.ts';
import { defined } from '../wire/defined.ts';
import { byLease } from '../wire/table.ts';
import type { Watched } from './alarms.ts';

const MINUTE = Duration.minutes(1);
const COLUMNS = 24;
const seconds = (ms: number): string => `${(ms / 1000).toLocaleString('en')} s`;

export interface DashboardSubject extends Watched {
  readonly table: TableV2;
  readonly queue: IQueue;
  readonly alarms: Readonly<Record<string, Alarm>>;
}

/** What an operator looks at first: are jobs reclaimed in time, do they fail, does the queue move. */
export function createDashboard(scope: Construct, subject: DashboardSubject): Dashboard {
  return new Dashboard(scope, 'Dashboard', {
    defaultInterval: Duration.hours(3),
    periodOverride: PeriodOverride.AUTO,
    widgets: [
      ...header(subject),
      row(...leaseGraphs(subject)),
      row(...outcomeGraphs(subject)),
      row(...queueGraphs(subject)),
      row(...functionGraphs(subject)),
    ],
  });
}

/** Graphs side by side, sharing the width. */
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
      new TextWidget({
        width: COLUMNS,
        height: 2,
        markdown: `# ${metered.serviceName}\nA crashed worker's job is reclaimed within **${seconds(bound.usualMs)}**, or ${seconds(bound.worstMs)} if the reaper dies as well. Lease ${seconds(settings.leaseMs)}, heartbeat ${seconds(settings.heartbeatMs)}.`,
      }),
    ],
    [
      new SingleValueWidget({
        title: 'Now',
        width: COLUMNS / 2,
        height: 4,
        metrics: [
          metered.metricLeasesLive({ period: MINUTE, label: 'live leases' }),
          metered.metricJobsReclaimed({ period: MINUTE, label: 'reclaimed' }),
          metered.metricJobsFailed({ period: MINUTE, label: 'failed' }),
          deadLetterQueue.metricApproximateNumberOfMessagesVisible({ period: MINUTE, label: 'dead letters' }),
        ],
      }),
      new AlarmStatusWidget({
        title: 'Alarms',
        width: COLUMNS / 2,
        height: 4,
        alarms: Object.values(alarms),
      }),
    ],
  ];
}

function leaseGraphs({ metered, settings }: DashboardSubject): GraphWidgetProps[] {
  const delayBound = reclaimDelayBound(settings);
  return [
    graph('Reclaims', [
      metered.metricJobsReclaimed({ period: MINUTE }),
      metered.metricBreakerOpen({ period: MINUTE, label: 'breaker open' }),
    ]),
    graph(
      'Reclaim delay',
      [
        metered.metricReclaimDelay({ period: MINUTE, statistic: Stats.p(50), label: 'p50' }),
        metered.metricReclaimDelay({ period: MINUTE, statistic: Stats.p(99), label: 'p99' }),
      ],
      { leftAnnotations: [{ value: delayBound, label: `bound ${seconds(delayBound)}`, color: '#d62728' }] },
    ),
    graph('Live leases', [metered.metricLeasesLive({ period: MINUTE })]),
    graph('Oldest lapsed lease', [metered.metricOldestLapsedLease({ period: MINUTE })]),
  ];
}

function outcomeGraphs({ metered }: DashboardSubject): GraphWidgetProps[] {
  const counts = { period: MINUTE };
  return [
    graph('Jobs', [
      metered.metricJobsClaimed(counts),
      metered.metricJobsDone(counts),
      metered.metricJobsReleased(counts),
      metered.metricJobsCancelled(counts),
    ]),
    graph('Retries, failures, quarantines', [
      metered.metricJobsRetried(counts),
      metered.metricJobsFailed(counts),
      metered.metricJobsQuarantined(counts),
      metered.metricMessagesRejected(counts),
    ]),
    graph('Fenced writes', [
      metered.metricWritesFenced(counts),
      metered.metricLeasesLost(counts),
      metered.metricLateCompletions(counts),
    ]),
  ];
}

function queueGraphs({ metered, queue, deadLetterQueue }: DashboardSubject): GraphWidgetProps[] {
  const state = { period: MINUTE, statistic: Stats.MAXIMUM };
  return [
    graph('Queue age', [queue.metricApproximateAgeOfOldestMessage({ ...state, label: 'oldest message' })]),
    graph('Queue depth', [
      queue.metricApproximateNumberOfMessagesVisible({ ...state, label: 'waiting' }),
      queue.metricApproximateNumberOfMessagesNotVisible({ ...state, label: 'with a worker' }),
      queue.metricApproximateNumberOfMessagesDelayed({ ...state, label: 'delayed' }),
      deadLetterQueue.metricApproximateNumberOfMessagesVisible({ ...state, label: 'dead letters' }),
    ]),
    graph('Hints sent', [metered.metricHintsSent({ period: MINUTE })]),
    graph('Clock offset', [metered.metricClockOffset({ period: MINUTE })], { leftYAxis: {} }),
  ];
}

function functionGraphs({ metered, functions, table }: DashboardSubject): GraphWidgetProps[] {
  const named = Object.entries(functions);
  const throttled = (metricName: string, index?: string) =>
    new Metric({
      namespace: 'AWS/DynamoDB',
      metricName,
      dimensionsMap: defined({ TableName: table.tableName, GlobalSecondaryIndexName: index }),
      statistic: Stats.SUM,
      period: MINUTE,
      label: `${index ?? 'table'} ${metricName === 'WriteThrottleEvents' ? 'writes' : 'reads'}`,
    });
  return [
    graph('Reaper duration', [metered.metricSweepDuration({ period: MINUTE, label: 'sweep p99' })], {
      right: [
        functions.reaper.metricDuration({ period: MINUTE, statistic: Stats.MAXIMUM, label: 'invocation' }),
      ],
    }),
    graph(
      'Function errors',
      named.map(([name, fn]) => fn.metricErrors({ period: MINUTE, label: name })),
    ),
    graph('Throttles', [
      ...named.map(([name, fn]) => fn.metricThrottles({ period: MINUTE, label: name })),
      throttled('WriteThrottleEvents'),
      throttled('WriteThrottleEvents', byLease.name),
      throttled('ReadThrottleEvents', byLease.name),
    ]),
  ];
}
