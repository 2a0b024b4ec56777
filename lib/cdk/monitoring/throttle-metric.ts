import { Metric, type MetricOptions, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { defined } from '../../wire/defined.ts';

export type ThrottleMetric = 'ReadThrottleEvents' | 'WriteThrottleEvents';

export const throttleMetric = (
  { tableName }: Pick<ITable, 'tableName'>,
  metricName: ThrottleMetric,
  index: string | undefined,
  options: MetricOptions,
): Metric =>
  new Metric({
    namespace: 'AWS/DynamoDB',
    metricName,
    dimensionsMap: defined({ TableName: tableName, GlobalSecondaryIndexName: index }),
    statistic: Stats.SUM,
    ...options,
  });
