import { Duration } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, type IMetric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { reclaimDelayBound } from '../settings/recovery-bound.ts';
import type { Settings } from '../settings/settings.ts';
import type { FunctionName } from './bundling.ts';
import type { ResourceProps } from './leasehold-jobs-props.ts';
import type { MeteredConstruct } from './metered-construct.ts';

const MINUTE = Duration.minutes(1);
const FIVE_MINUTES = Duration.minutes(5);
const DEFAULT_RUNBOOK = 'docs/runbook.md';

interface AlarmDefinition {
  /** The paragraph of the runbook. */
  readonly anchor: string;
  readonly says: string;
  readonly metric: IMetric;
  /** Goes off at this value, or below it for a dead man. */
  readonly threshold: number;
  readonly comparison?: ComparisonOperator;
  /** Periods in a row. */
  readonly periods?: number;
  readonly missing?: TreatMissingData;
  readonly silent?: boolean;
}

export interface Watched {
  readonly metered: MeteredConstruct;
  readonly settings: Settings;
  readonly functions: Readonly<Record<FunctionName, LambdaFunction>>;
  readonly deadLetterQueue: IQueue;
}

/** Errors in five minutes from which a function's alarm goes off. A worker's crash is reclaimed and counted anyway. */
const errorThresholds: Record<FunctionName, number> = { worker: 5, reaper: 2, 'dead-letter': 1 };

/** The alarms, by construct id. Each description names its paragraph of the runbook. */
export function createAlarms(
  scope: Construct,
  watched: Watched,
  props: Pick<ResourceProps, 'alarmTopic' | 'runbook' | 'reclaimAlarmThreshold' | 'failureAlarmThreshold'>,
): Readonly<Record<string, Alarm>> {
  const home = new Construct(scope, 'Alarms');
  const { alarmTopic, runbook = DEFAULT_RUNBOOK } = props;
  const definitions = { ...jobAlarms(watched, props), ...functionAlarms(watched) };
  return Object.fromEntries(
    Object.entries(definitions).map(([id, definition]) => {
      const alarm = new Alarm(home, id, {
        alarmDescription: `${definition.says} Runbook: ${runbook}#${definition.anchor}`,
        metric: definition.metric,
        threshold: definition.threshold,
        comparisonOperator: definition.comparison ?? ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        evaluationPeriods: definition.periods ?? 1,
        treatMissingData: definition.missing ?? TreatMissingData.NOT_BREACHING,
        actionsEnabled: definition.silent !== true,
      });
      if (alarmTopic !== undefined) {
        const action = new SnsAction(alarmTopic);
        alarm.addAlarmAction(action);
        alarm.addOkAction(action);
      }
      return [id, alarm];
    }),
  );
}

function jobAlarms(
  { metered, settings, deadLetterQueue }: Watched,
  { reclaimAlarmThreshold = 20, failureAlarmThreshold = 1 }: ResourceProps,
): Record<string, AlarmDefinition> {
  const silentMinutes = Math.max(5, (3 * settings.reaperIntervalMs) / MINUTE.toMilliseconds());
  const delayBound = reclaimDelayBound(settings);
  const perFiveMinutes = { period: FIVE_MINUTES };
  return {
    DeadMan: {
      anchor: 'dead-man',
      says: `No sweep was seen for ${silentMinutes} minutes: lapsed leases are not taken back.`,
      metric: metered.metricSweepDuration({ statistic: Stats.SAMPLE_COUNT, period: MINUTE }),
      threshold: 1,
      comparison: ComparisonOperator.LESS_THAN_THRESHOLD,
      periods: silentMinutes,
      missing: TreatMissingData.BREACHING,
      // Whoever pauses the reaper knows that it does not sweep: the alarm shows it, and wakes nobody.
      silent: !settings.reaperEnabled,
    },
    ReclaimSpike: {
      anchor: 'reclaim-spike',
      says: `${reclaimAlarmThreshold} or more jobs were taken from dead workers within 5 minutes.`,
      metric: metered.metricJobsReclaimed(perFiveMinutes),
      threshold: reclaimAlarmThreshold,
    },
    ReclaimDelay: {
      anchor: 'reclaim-delay',
      says: `A job waited longer to be reclaimed than the ${delayBound} ms that the settings promise.`,
      metric: metered.metricReclaimDelay({ ...perFiveMinutes, statistic: Stats.MAXIMUM }),
      threshold: delayBound,
      comparison: ComparisonOperator.GREATER_THAN_THRESHOLD,
    },
    JobsFailed: {
      anchor: 'jobs-failed',
      says: `${failureAlarmThreshold} or more jobs failed for good within 5 minutes.`,
      metric: metered.metricJobsFailed(perFiveMinutes),
      threshold: failureAlarmThreshold,
    },
    JobsQuarantined: {
      anchor: 'jobs-quarantined',
      says: 'A job kept killing its worker and failed for good.',
      metric: metered.metricJobsQuarantined(perFiveMinutes),
      threshold: 1,
    },
    DeadLetterDepth: {
      anchor: 'dead-letter-depth',
      says: 'Messages have stayed in the dead-letter queue for 15 minutes: its consumer does not cope.',
      metric: deadLetterQueue.metricApproximateNumberOfMessagesVisible({
        ...perFiveMinutes,
        statistic: Stats.MINIMUM,
      }),
      threshold: 1,
      periods: 3,
    },
  };
}

function functionAlarms({ functions }: Watched): Record<string, AlarmDefinition> {
  const named = Object.entries(functions) as [FunctionName, LambdaFunction][];
  return Object.fromEntries(
    named.flatMap(([name, fn]) => {
      const id = name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
      const errors: AlarmDefinition = {
        anchor: `${name}-errors`,
        says: `The ${name} function failed ${errorThresholds[name]} times or more within 5 minutes.`,
        metric: fn.metricErrors({ period: FIVE_MINUTES }),
        threshold: errorThresholds[name],
      };
      const throttles: AlarmDefinition = {
        anchor: 'throttles',
        says: `The ${name} function has been throttled for 15 minutes: no concurrency is left for it.`,
        metric: fn.metricThrottles({ period: FIVE_MINUTES }),
        threshold: 1,
        periods: 3,
      };
      return [
        [`${id}Errors`, errors],
        [`${id}Throttles`, throttles],
      ];
    }),
  );
}
