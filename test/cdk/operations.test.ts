import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration } from 'aws-cdk-lib';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { createPowertoolsTelemetry } from '../../lib/aws/telemetry.ts';
import { LeaseholdJobs } from '../../lib/cdk/leasehold-jobs.ts';
import { reclaimDelayBound } from '../../lib/settings/recovery-bound.ts';
import { METRIC_DIMENSION, METRIC_NAMESPACE, type MetricName, metrics } from '../../lib/wire/metrics.ts';
import {
  flat,
  projectRoot,
  resourceOf,
  type Synthesized,
  synthesize,
  synthesizeIn,
  withoutValidation,
} from './support.ts';

withoutValidation();

const metricNames = Object.keys(metrics) as MetricName[];

interface AlarmProperties {
  readonly AlarmDescription: string;
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Dimensions: readonly { readonly Name: string; readonly Value: unknown }[];
  readonly Threshold: number;
  readonly ComparisonOperator: string;
  readonly EvaluationPeriods: number;
  readonly Period: number;
  readonly TreatMissingData: string;
  readonly ActionsEnabled: boolean;
  readonly AlarmActions?: readonly unknown[];
  readonly OKActions?: readonly unknown[];
  readonly [other: string]: unknown;
}

const alarmsOf = (from: Synthesized): Record<string, AlarmProperties> =>
  Object.fromEntries(
    Object.entries(from.jobs.alarms).map(([id, alarm]) => [
      id,
      resourceOf(from, alarm).Properties as unknown as AlarmProperties,
    ]),
  );

interface Widget {
  readonly type: string;
  readonly width: number;
  readonly properties: {
    readonly title?: string;
    readonly metrics?: readonly (readonly unknown[])[];
    readonly annotations?: { readonly horizontal?: readonly { readonly value: number }[] };
  };
}

/** The dashboard as CloudWatch reads it: JSON text, with references filled in. */
function widgetsOf(from: Synthesized): readonly Widget[] {
  const body = flat(resourceOf(from, from.jobs.dashboard).Properties.DashboardBody);
  return JSON.parse(String(body)).widgets;
}

const ownMetrics = (widgets: readonly Widget[]): string[] =>
  widgets
    .flatMap(({ properties }) => properties.metrics ?? [])
    .filter(([namespace]) => namespace === METRIC_NAMESPACE)
    .map(([, name]) => String(name));

let standard: Synthesized;
beforeAll(() => {
  standard = synthesize();
});

describe('metrics', () => {
  it.each(metricNames)('%s has the same name in emitter, contract and method', (name) => {
    const metric = standard.jobs[`metric${name}`]();
    expect(metric).toMatchObject({
      namespace: METRIC_NAMESPACE,
      metricName: name,
      dimensions: { [METRIC_DIMENSION]: standard.jobs.serviceName },
    });
    expect(emitted(standard.jobs.serviceName, name)).toEqual({
      namespace: metric.namespace,
      name: metric.metricName,
      unit: metrics[name].unit,
      dimensions: metric.dimensions,
    });
  });

  it('can be read by any statistic and period', () => {
    const metric = standard.jobs.metricReclaimDelay({ statistic: 'p50', period: Duration.minutes(1) });
    expect(metric.statistic).toBe('p50');
    expect(metric.period.toSeconds()).toBe(60);
  });
});

/** What CloudWatch would take from the line that the functions write. */
function emitted(serviceName: string, name: MetricName) {
  const lines: string[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  const telemetry = createPowertoolsTelemetry({ serviceName });
  telemetry.count(name, 1);
  telemetry.flush();
  log.mockRestore();
  const line = JSON.parse(lines.at(-1) ?? '{}');
  const [directive] = line._aws.CloudWatchMetrics;
  const [metric] = directive.Metrics;
  return {
    namespace: directive.Namespace,
    name: metric.Name,
    unit: metric.Unit,
    dimensions: Object.fromEntries(directive.Dimensions[0].map((key: string) => [key, line[key]])),
  };
}

describe('alarms', () => {
  it('are those that an operator must be woken for', () => {
    expect(Object.keys(standard.jobs.alarms).sort()).toEqual(
      [
        'DeadMan',
        'ReclaimSpike',
        'ReclaimDelay',
        'JobsFailed',
        'JobsQuarantined',
        'DeadLetterDepth',
        'WorkerErrors',
        'WorkerThrottles',
        'ReaperErrors',
        'ReaperThrottles',
        'DeadLetterErrors',
        'DeadLetterThrottles',
      ].sort(),
    );
    standard.template.resourceCountIs('AWS::CloudWatch::Alarm', Object.keys(standard.jobs.alarms).length);
  });

  it('watch metrics that are emitted, under this deployment’s name', () => {
    const own = Object.values(alarmsOf(standard)).filter(({ Namespace }) => Namespace === METRIC_NAMESPACE);
    expect(own).toHaveLength(5);
    for (const { MetricName: name, Dimensions } of own) {
      expect(metricNames).toContain(name);
      expect(Dimensions).toEqual([{ Name: METRIC_DIMENSION, Value: standard.jobs.serviceName }]);
    }
  });

  it('each name a paragraph that the runbook has', () => {
    const runbook = readFileSync(join(projectRoot, 'docs', 'runbook.md'), 'utf8');
    const anchors = [...runbook.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );
    for (const { AlarmDescription } of Object.values(alarmsOf(standard))) {
      const [, anchor] = /Runbook: docs\/runbook\.md#([\w-]+)$/.exec(AlarmDescription) ?? [];
      expect(anchors, AlarmDescription).toContain(anchor);
    }
  });

  it('take silence of the reaper for its death, and silence of everything else for peace', () => {
    const { DeadMan, ...others } = alarmsOf(standard);
    expect(DeadMan).toMatchObject({
      MetricName: 'SweepDuration',
      Statistic: 'SampleCount',
      ComparisonOperator: 'LessThanThreshold',
      Threshold: 1,
      Period: 60,
      EvaluationPeriods: 5,
      TreatMissingData: 'breaching',
      ActionsEnabled: true,
    });
    for (const other of Object.values(others)) expect(other.TreatMissingData).toBe('notBreaching');
  });

  it('give a slow schedule three ticks, and wake nobody while the reaper is paused', () => {
    const slow = alarmsOf(synthesize({ reaperInterval: Duration.minutes(10) }));
    expect(slow.DeadMan?.EvaluationPeriods).toBe(30);
    const paused = alarmsOf(synthesize({ reaperEnabled: false }));
    expect(paused.DeadMan?.ActionsEnabled).toBe(false);
  });

  // By hand: skew 2 s, a second of SQS's granularity, half of delivery, half of a sweep.
  it('hold reclaim delays against the bound that the settings promise', () => {
    const made = synthesize({});
    const bound = 2000 + 1000 + 500 + 500;
    expect(reclaimDelayBound(made.jobs.settings)).toBe(bound);
    expect(alarmsOf(made).ReclaimDelay).toMatchObject({
      MetricName: 'ReclaimDelay',
      Statistic: 'Maximum',
      ComparisonOperator: 'GreaterThanThreshold',
      Threshold: bound,
    });
  });

  it('tell a topic of their beginning and end, if there is one', () => {
    for (const alarm of Object.values(alarmsOf(standard))) expect(alarm).not.toHaveProperty('AlarmActions');
    const loud = synthesizeIn(
      (stack) => new LeaseholdJobs(stack, 'Jobs', { alarmTopic: new Topic(stack, 'Pager') }),
    );
    for (const alarm of Object.values(alarmsOf(loud))) {
      expect(alarm.AlarmActions).toHaveLength(1);
      expect(alarm.OKActions).toEqual(alarm.AlarmActions);
    }
  });

  it('have thresholds and a runbook of the user’s own', () => {
    const own = alarmsOf(
      synthesize({
        reclaimAlarmThreshold: 7,
        failureAlarmThreshold: 3,
        runbook: 'https://wiki.example.com/leasehold',
      }),
    );
    expect(own.ReclaimSpike).toMatchObject({ MetricName: 'JobsReclaimed', Threshold: 7 });
    expect(own.JobsFailed).toMatchObject({ MetricName: 'JobsFailed', Threshold: 3 });
    expect(own.DeadMan?.AlarmDescription).toMatch(
      /Runbook: https:\/\/wiki\.example\.com\/leasehold#dead-man$/,
    );
  });
});

describe('the dashboard', () => {
  it('is valid JSON whose rows fill the width', () => {
    const widgets = widgetsOf(standard);
    expect(widgets.length).toBeGreaterThan(10);
    for (const { width } of widgets) expect(24 % width).toBe(0);
  });

  it('shows every metric that is emitted, and no other', () => {
    expect(new Set(ownMetrics(widgetsOf(standard)))).toEqual(new Set(metricNames));
  });

  it('shows what operators ask first', () => {
    const titles = widgetsOf(standard).map(({ properties }) => properties.title);
    expect(titles).toEqual(
      expect.arrayContaining([
        'Reclaims',
        'Reclaim delay',
        'Live leases',
        'Oldest lapsed lease',
        'Fenced writes',
        'Retries, failures, quarantines',
        'Queue age',
        'Queue depth',
        'Reaper duration',
        'Throttles',
        'Alarms',
      ]),
    );
  });

  it('draws the bound into the reclaim delays', () => {
    const delay = widgetsOf(standard).find(({ properties }) => properties.title === 'Reclaim delay');
    expect(delay?.properties.annotations?.horizontal?.[0]?.value).toBe(
      reclaimDelayBound(standard.jobs.settings),
    );
    const statistics = delay?.properties.metrics?.map((metric) => (metric.at(-1) as { stat: string }).stat);
    expect(statistics).toEqual(['p50', 'p99']);
  });
});
