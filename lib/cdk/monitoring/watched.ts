import type { ComparisonOperator, IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Settings } from '../../settings/settings.ts';
import type { FunctionName } from '../bundling.ts';
import type { MeteredConstruct } from './metered-construct.ts';

/** What alarms and dashboard look at. */
export interface Watched {
  readonly metered: MeteredConstruct;
  readonly settings: Settings;
  /** The worker is undefined where only containers work. */
  readonly functions: Readonly<Record<Exclude<FunctionName, 'worker'>, LambdaFunction>> & {
    readonly worker: LambdaFunction | undefined;
  };
  readonly queue: IQueue;
  readonly deadLetterQueue: IQueue;
  readonly wakeQueue: IQueue;
  readonly table: TableV2;
  /** Undefined where there are no recurring jobs. */
  readonly scheduleDeadLetterQueue?: IQueue;
}

/** One alarm, before it is made. */
export interface AlarmDefinition {
  /** What people call it: the end of the alarm's name. */
  readonly title: string;
  /** The paragraph of the runbook. */
  readonly anchor: string;
  readonly says: string;
  readonly metric: IMetric;
  /** Goes off at this value, or below it for a dead man. */
  readonly threshold: number;
  readonly comparison?: ComparisonOperator;
  /** Periods in a row. */
  readonly periods?: number;
  readonly silent?: boolean;
}
