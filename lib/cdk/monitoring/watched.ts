import type { ComparisonOperator, IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Settings } from '../../settings/settings.ts';
import type { FunctionName } from '../bundling.ts';
import type { JobPool } from '../pools/pools.ts';
import type { MeteredConstruct } from './metered-construct.ts';

export interface Watched {
  readonly metered: MeteredConstruct;
  readonly settings: Settings;
  readonly functions: Readonly<Record<Exclude<FunctionName, 'worker'>, LambdaFunction>> & {
    readonly worker: LambdaFunction | undefined;
  };
  readonly queue: IQueue;
  readonly deadLetterQueue: IQueue;
  readonly wakeQueue: IQueue;
  readonly table: TableV2;
  readonly pools: Readonly<Record<string, Pick<JobPool, 'queue' | 'workerFunction' | 'service'>>>;
  /** Undefined without recurring jobs. */
  readonly scheduleDeadLetterQueue?: IQueue;
}

export interface AlarmDefinition {
  /** The end of the alarm's name, and a heading of the runbook. */
  readonly title: string;
  /** Follows the title in the name of a pool's alarm. */
  readonly pool?: string;
  readonly description: string;
  /** The command that an operator runs first, without `leasehold`. */
  readonly first: string;
  readonly metric: IMetric;
  readonly threshold: number;
  readonly comparison?: ComparisonOperator;
  readonly periods?: number;
  readonly silent?: boolean;
  /** Whether it cannot wait until the morning. */
  readonly pages?: boolean;
}
