import { resourceOf, type Synthesized } from './support.ts';

/** An alarm of the template. */
export interface AlarmProperties {
  readonly AlarmName: string;
  readonly Metrics?: readonly {
    readonly Expression?: string;
    readonly MetricStat?: { readonly Metric: AlarmMetric };
  }[];
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

export const alarmsOf = (from: Synthesized): Record<string, AlarmProperties> =>
  Object.fromEntries(
    Object.entries(from.jobs.alarms).map(([id, alarm]) => [
      id,
      resourceOf(from, alarm).Properties as unknown as AlarmProperties,
    ]),
  );

interface AlarmMetric {
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Dimensions: unknown;
}

/** What an alarm is paid for by. */
export const metricsIn = (alarm: AlarmProperties | undefined): AlarmMetric[] =>
  alarm?.Metrics === undefined
    ? [alarm as unknown as AlarmMetric]
    : alarm.Metrics.flatMap(({ MetricStat }) => (MetricStat === undefined ? [] : [MetricStat.Metric]));
