import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { createPowertoolsTelemetry } from '../../lib/aws/telemetry.ts';
import type { LeaseholdJobsProps } from '../../lib/cdk/props/leasehold-jobs-props.ts';
import { createProgram } from '../../lib/tools/cli/program.ts';
import type { Terminal } from '../../lib/tools/cli/terminal/terminal.ts';
import { ALARM_METRICS } from '../../lib/tools/plan/operations-bill.ts';
import { METRIC_DIMENSION, METRIC_NAMESPACE, type MetricName, metrics } from '../../lib/wire/metrics.ts';
import { alarmsOf, metricsIn } from './alarms-of.ts';
import {
  flat,
  projectRoot,
  resourceOf,
  type Synthesized,
  synthesize,
  synthesizeJobs,
  synthesizeWithoutWorker,
  standard as usual,
  withoutValidation,
} from './support.ts';

withoutValidation();

const metricNames = Object.keys(metrics) as MetricName[];

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
  if (from.jobs.dashboard === undefined) throw new Error('there is no dashboard');
  const body = flat(resourceOf(from, from.jobs.dashboard).Properties.DashboardBody);
  return JSON.parse(String(body)).widgets;
}

const ownMetrics = (widgets: readonly Widget[]): string[] =>
  widgets
    .flatMap(({ properties }) => properties.metrics ?? [])
    .filter(([namespace]) => namespace === METRIC_NAMESPACE)
    .map(([, name]) => String(name));

const nightly = { type: 'report', cron: '0 3 * * ? *' };

const standard = usual();

describe('metrics', () => {
  it.each(metricNames)('%s has the same name in emitter and contract', (name) => {
    const metric = standard.jobs.metric(name);
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
  it('are paid for by their metrics, of which there are 16 at most', () => {
    const paid = (from: Synthesized) =>
      Object.values(alarmsOf(from)).reduce((sum, alarm) => sum + metricsIn(alarm).length, 0);
    expect(paid(standard)).toBe(ALARM_METRICS);
    expect(paid(standard)).toBeLessThanOrEqual(16);
  });

  it('watch no metric that nobody emits, and no metric is listed that nobody emits', () => {
    const emittedSomewhere = new Set(
      globSync('{functions,lib}/**/*.ts', {
        cwd: projectRoot,
        exclude: ['lib/cdk/**', 'lib/wire/metrics.ts'],
      })
        .map((file) => readFileSync(join(projectRoot, file), 'utf8'))
        .flatMap((source) => [
          ...source.matchAll(/\.(?:count|gauge)\(\s*'(\w+)'/g),
          // What a sweep counts is named in an object.
          ...source.matchAll(/^\s+(\w+): result\.\w+(?: \+ result\.\w+)?,$/gm),
        ])
        .map(([, name = '']) => name),
    );
    expect(metricNames.filter((name) => !emittedSomewhere.has(name))).toEqual([]);
    expect(emittedSomewhere).not.toContain('NobodyEmitsThis');
  });

  it('watch AWS’s own metrics by names that the runbook cites from AWS’s documentation', () => {
    const runbook = readFileSync(join(projectRoot, 'docs', 'operating', 'runbook.md'), 'utf8');
    const evidence = runbook.split('## Which alarm sees what')[1] ?? '';
    const cited = new Set(
      [...evidence.matchAll(/`(AWS\/\w+) (\w+)`/g)].map(([, space, name]) => `${space} ${name}`),
    );
    for (const metric of cited)
      expect(evidence).toContain(`\n[${/AWS\/(\w+)/.exec(metric)?.[1]}](https://docs.aws.amazon.com/`);
    const watched = Object.values(alarmsOf(standard))
      .flatMap(metricsIn)
      .filter(({ Namespace }) => Namespace !== METRIC_NAMESPACE)
      .map(({ Namespace, MetricName: name }) => `${Namespace} ${name}`);
    // Where only containers work.
    watched.push('AWS/SQS NumberOfMessagesReceived');
    expect([...new Set(watched)].sort()).toEqual([...cited].sort());
  });

  it('are all in the runbook’s table of what breaks, and so is how soon each goes off', () => {
    const runbook = readFileSync(join(projectRoot, 'docs', 'operating', 'runbook.md'), 'utf8');
    const table = runbook.split('## Which alarm sees what')[1]?.split('\n## ')[0] ?? '';
    const containers = synthesizeWithoutWorker();
    const all = [standard, containers].flatMap((each) => Object.entries(alarmsOf(each)));
    for (const [id, alarm] of all) {
      const periods = alarm.Metrics?.flatMap(
        (metric) => (metric as { MetricStat?: { Period: number } }).MetricStat?.Period ?? [],
      );
      const minutes = ((alarm.Period ?? periods?.[0] ?? 0) * alarm.EvaluationPeriods) / 60;
      const rows = table
        .split('\n')
        .filter((line) => line.includes(`| ${alarm.AlarmName.replace(/^.*: /, '')} |`));
      expect(rows.length, `${id}: ${alarm.AlarmName}`).toBeGreaterThan(0);
      for (const row of rows) expect(row, id).toContain(`| ${minutes} min`);
    }
  });

  // An expression has no value where one of its metrics has none, and AWS leaves many out while they are zero.
  it('take a metric that is not there for zero, but for the one that says that the system is in use', () => {
    const expressions = Object.values(alarmsOf(standard)).flatMap(({ Metrics = [] }) =>
      Metrics.flatMap(({ Expression }) => Expression ?? []),
    );
    expect(expressions.length).toBeGreaterThan(2);
    for (const expression of expressions) {
      const bare = expression.replaceAll(/FILL\(\w+, 0\)/g, '').match(/[a-z]\w*/g) ?? [];
      expect(bare, expression).toEqual(expression.startsWith('IF(queue >= 0,') ? ['queue'] : []);
    }
  });

  it('each link by https to the section of the runbook that has their name', () => {
    const runbook = readFileSync(join(projectRoot, 'docs', 'operating', 'runbook.md'), 'utf8');
    const headings = [...runbook.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title.toLowerCase());
    const containers = synthesizeWithoutWorker();
    for (const made of [synthesize({ schedules: { nightly } }), containers])
      for (const { AlarmName, AlarmDescription } of Object.values(alarmsOf(made))) {
        const title = AlarmName.replace(/^.*: /, '').toLowerCase();
        expect(headings).toContain(title);
        const anchor = title.replaceAll(' ', '-');
        expect(AlarmDescription).toMatch(
          new RegExp(` Runbook: https://unpkg\\.com/leasehold/docs/operating/runbook\\.md#${anchor}$`),
        );
        expect(AlarmDescription.length).toBeLessThan(1024);
      }
  });

  it('come with a first command that the command line has', async () => {
    const context = { terminal: { columns: 80 } as Terminal, end: () => {} };
    const alarms = alarmsOf(synthesize({ schedules: { nightly } }));
    for (const { AlarmDescription } of Object.values(alarms)) {
      const [, line = ''] = / First: leasehold (.+)\. Runbook: /.exec(AlarmDescription) ?? [];
      const [name = '', ...args] = line.split(' ');
      const program = await createProgram(context, [name]);
      const command = program.commands.find((each) => each.name() === name);
      const { unknown, operands } = command?.parseOptions(args) ?? { unknown: [line], operands: [] };
      expect([line, unknown, operands]).toEqual([line, [], []]);
      expect(command?.opts().service).toBe('Leasehold-Jobs');
    }
  });

  // 15 minutes are the longest delay of a hint, and the longest invocation; 3 more are for metrics that come late.
  it('allow for the longest invocation and the longest delay before they miss the start of jobs', () => {
    expect(alarmsOf(standard).QueueStalled).toMatchObject({ EvaluationPeriods: 18 });
    const short = alarmsOf(synthesize({ functionTimeout: Duration.minutes(1) }));
    expect(short.QueueStalled).toMatchObject({ EvaluationPeriods: 18 });
    const gathered = alarmsOf(synthesize({ batchWindow: Duration.minutes(5), batchSize: 10 }));
    expect(gathered.QueueStalled).toMatchObject({
      EvaluationPeriods: 23,
      AlarmDescription: expect.stringMatching(/^Messages have been in the queue for 23 minutes/),
    });
  });

  it('ask only the queue where no function works: containers may write their metrics elsewhere', () => {
    const containers = synthesizeWithoutWorker();
    const { QueueStalled } = alarmsOf(containers);
    expect(QueueStalled?.AlarmName).toMatch(/: jobs wait and no worker takes them$/);
    expect(metricsIn(QueueStalled).map(({ MetricName: name }) => name)).toEqual([
      'ApproximateNumberOfMessagesVisible',
      'NumberOfMessagesReceived',
    ]);
    expect(QueueStalled).toMatchObject({ EvaluationPeriods: 2 });
  });

  it('tell a topic of their beginning and end, if there is one', () => {
    for (const alarm of Object.values(alarmsOf(standard))) expect(alarm).not.toHaveProperty('AlarmActions');
    const loud = synthesizeJobs((stack) => ({ alarmTopic: new Topic(stack, 'Pager') }));
    for (const alarm of Object.values(alarmsOf(loud))) {
      expect(alarm.AlarmActions).toHaveLength(1);
      expect(alarm.OKActions).toEqual(alarm.AlarmActions);
    }
  });

  it('page for what cannot wait, and write tickets for the rest', () => {
    const both = synthesizeJobs((stack) => ({
      pageTopic: new Topic(stack, 'Page'),
      ticketTopic: new Topic(stack, 'Ticket'),
    }));
    const paging = Object.entries(alarmsOf(both)).filter(([, { AlarmActions }]) =>
      JSON.stringify(AlarmActions).includes('"Page'),
    );
    expect(paging.map(([id]) => id).sort()).toEqual([
      ...['DeadMan', 'MessagesReturned', 'QueueStalled', 'StoreFailures', 'WorkerErrors'],
    ]);
    const silence = (from: Synthesized) =>
      Annotations.fromStack(from.stack).findWarning('*', Match.stringLikeRegexp('alarms notify no one'));
    expect(silence(both)).toEqual([]);
    expect(silence(standard)).toHaveLength(1);
  });

  it('have thresholds and a runbook of the user’s own', () => {
    const own = alarmsOf(
      synthesize({
        crashAlarmThreshold: 7,
        reclaimAlarmThreshold: 9,
        throttleAlarmThreshold: 8,
        failureAlarmThreshold: 3,
        storeFailureAlarmThreshold: 50,
        returnedAlarmThreshold: 60,
        queueAgeAlarmThreshold: Duration.minutes(10),
        runbookUrl: 'https://wiki.example.com/leasehold',
      }),
    );
    expect(own.Crashes).toMatchObject({ MetricName: 'JobsCrashed', Threshold: 7 });
    expect(own.Reclaims).toMatchObject({ MetricName: 'JobsReclaimed', Threshold: 9 });
    expect(own.Throttled).toMatchObject({ MetricName: 'RequestsThrottled', Threshold: 8 });
    expect(own.JobsFailed).toMatchObject({ MetricName: 'JobsFailed', Threshold: 3 });
    expect(own.StoreFailures?.Threshold).toBe(50);
    expect(own.MessagesReturned?.Threshold).toBe(60);
    expect(own.QueueAge).toMatchObject({ Threshold: 600 });
    expect(own.DeadMan?.AlarmDescription).toMatch(
      /Runbook: https:\/\/wiki\.example\.com\/leasehold#the-reaper-is-silent$/,
    );
  });
});

describe('what alarms cannot work with', () => {
  it.each<[LeaseholdJobsProps, RegExp]>([
    [
      { crashAlarmThreshold: 0 },
      /'crashAlarmThreshold' is 0; it must be a whole number of at least 1.*Set it to 1/,
    ],
    [{ failureAlarmThreshold: 1.5 }, /'failureAlarmThreshold' is 1\.5; it must be a whole number/],
    [{ returnedAlarmThreshold: Number.NaN }, /'returnedAlarmThreshold' is NaN; it must be/],
    [
      { queueAgeAlarmThreshold: Duration.seconds(10) },
      /'queueAgeAlarmThreshold' is 10 s; it must be at least 60 s.*Raise it/,
    ],
    [
      { runbookUrl: 'https://wiki.example.com/jobs#alarms' },
      /'runbookUrl' is 'https:.*#alarms'; it must have no '#'/,
    ],
  ])('is refused at synth: %j', (props, message) => {
    expect(() => synthesize(props)).toThrow(message);
  });
});

describe('wait and run time by job type', () => {
  it('are off, and cost nothing, unless they are asked for', () => {
    expect(standard.jobs.settings.metricsByType).toBe(false);
    const measured = synthesize({ metricsByType: true });
    const metric = measured.jobs.metricOfType('WaitTime', 'send-invoice', { statistic: 'p90' });
    expect(metric).toMatchObject({
      namespace: METRIC_NAMESPACE,
      dimensions: { [METRIC_DIMENSION]: measured.jobs.serviceName, type: 'send-invoice' },
    });
    const shown = widgetsOf(measured).filter(({ properties }) => /by type, ms$/.test(properties.title ?? ''));
    expect(shown.map(({ properties }) => JSON.stringify(properties.metrics))).toEqual([
      expect.stringContaining('WaitTime'),
      expect.stringContaining('RunTime'),
    ]);
  });
});

describe('the dashboard', () => {
  let shown: Synthesized;
  beforeAll(() => {
    shown = standard;
  });

  it('is there unless a prop turns it off', () => {
    standard.template.resourceCountIs('AWS::CloudWatch::Dashboard', 1);
    const without = synthesize({ dashboard: false });
    expect(without.jobs.dashboard).toBeUndefined();
    without.template.resourceCountIs('AWS::CloudWatch::Dashboard', 0);
  });

  it('shows every metric that is emitted, and no other', () => {
    expect(new Set(ownMetrics(widgetsOf(shown)))).toEqual(new Set(metricNames));
  });
});
