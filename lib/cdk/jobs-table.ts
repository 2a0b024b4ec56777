import { Annotations, RemovalPolicy, Stack, Token } from 'aws-cdk-lib';
import {
  type Attribute,
  AttributeType,
  Billing,
  CfnGlobalTable,
  ProjectionType,
  TableEncryptionV2,
  TableV2,
} from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import { carriedAtOnce, warmingFor } from '../settings/partitions.ts';
import { unitsNeeded } from '../settings/relations.ts';
import type { Settings } from '../settings/settings.ts';
import { SettingsError } from '../settings/settings-error.ts';
import { type IndexDefinition, jobsTable, type KeyType } from '../wire/table.ts';
import { concurrencyOf } from './functions.ts';
import type { LeaseholdJobsProps, ResourceProps } from './props/leasehold-jobs-props.ts';

const attribute = ({ name, type }: { readonly name: string; readonly type: KeyType }): Attribute => ({
  name,
  type: type === 'S' ? AttributeType.STRING : AttributeType.NUMBER,
});

export function addTable(
  scope: Construct,
  props: Pick<
    ResourceProps,
    | 'encryptionKey'
    | 'pointInTimeRecovery'
    | 'deletionProtection'
    | 'removalPolicy'
    | 'billing'
    | 'warmThroughput'
  >,
): TableV2 {
  const { encryptionKey, removalPolicy = RemovalPolicy.RETAIN, pointInTimeRecovery = true } = props;
  if (encryptionKey !== undefined && Token.isUnresolved(Stack.of(scope).region))
    throw new SettingsError([
      `prop 'encryptionKey' needs a stack whose region is known at synth, because a table names its key by region. Give the stack an 'env' with account and region`,
    ]);
  const indexes: readonly IndexDefinition[] = jobsTable.indexes;
  return new TableV2(scope, 'Table', {
    partitionKey: attribute(jobsTable.partitionKey),
    timeToLiveAttribute: jobsTable.timeToLiveAttribute,
    billing: props.billing ?? Billing.onDemand(),
    warmThroughput: props.warmThroughput,
    globalSecondaryIndexes: indexes.map((index) => ({
      indexName: index.name,
      partitionKey: attribute(index.partitionKey),
      sortKey: attribute(index.sortKey),
      projectionType: ProjectionType.INCLUDE,
      nonKeyAttributes: [...index.projects],
      // A beat writes the table once and the index twice.
      warmThroughput: props.warmThroughput && {
        ...props.warmThroughput,
        writeUnitsPerSecond:
          props.warmThroughput.writeUnitsPerSecond && 2 * props.warmThroughput.writeUnitsPerSecond,
      },
    })),
    encryption:
      encryptionKey === undefined
        ? TableEncryptionV2.dynamoOwnedKey()
        : TableEncryptionV2.customerManagedKey(encryptionKey),
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: pointInTimeRecovery },
    deletionProtection: props.deletionProtection ?? removalPolicy !== RemovalPolicy.DESTROY,
    removalPolicy,
  });
}

interface WriteLimits {
  readonly writeOnDemandThroughputSettings?: { readonly maxWriteRequestUnits?: number };
  readonly writeProvisionedThroughputSettings?: {
    readonly writeCapacityAutoScalingSettings?: { readonly maxCapacity?: number };
  };
}

const mostUnits = (limits: WriteLimits): number | undefined =>
  limits.writeOnDemandThroughputSettings?.maxWriteRequestUnits ??
  limits.writeProvisionedThroughputSettings?.writeCapacityAutoScalingSettings?.maxCapacity;

const loadOf = ({ maxRunning, maxStartsPerSecond }: Settings): string =>
  `maxRunning (${maxRunning}) and maxStartsPerSecond (${maxStartsPerSecond})`;

/** Throttled heartbeats would let leases lapse forever. */
export function refuseTooFewUnits(table: TableV2, settings: Settings): void {
  const resource = table.node.defaultChild;
  if (!(resource instanceof CfnGlobalTable)) return;
  const units = unitsNeeded(settings);
  const indexes = Stack.of(table).resolve(resource.globalSecondaryIndexes) as readonly WriteLimits[];
  const problem = (what: 'table' | 'index', limits: WriteLimits): string[] => {
    const most = mostUnits(limits);
    const needed = Math.ceil(units[what]);
    return most === undefined || most >= needed
      ? []
      : [
          `${loadOf(settings)} mean ${needed} write units a second of the ${what}, and 'billing' allows ${most}. Raise the maximum write units to ${Math.ceil(2 * units.index)} or more, lower maxRunning or maxStartsPerSecond, or lengthen lease and heartbeat`,
        ];
  };
  const limits = Stack.of(table).resolve({
    writeOnDemandThroughputSettings: resource.writeOnDemandThroughputSettings,
    writeProvisionedThroughputSettings: resource.writeProvisionedThroughputSettings,
  }) as WriteLimits;
  const problems = [...problem('table', limits), ...indexes.flatMap((index) => problem('index', index))];
  if (problems.length > 0) throw new SettingsError(problems);
}

/** The default quota of a table and of each index. */
const QUOTA_WRITE_UNITS = 40_000;
/** A second, with the default of 1,000 concurrent executions: https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html */
const QUOTA_INVOCATIONS = 10_000;
const LEAST_INVOCATION_MS = 40;

export function warnOfLoad(
  scope: Construct,
  settings: Settings,
  props: Pick<LeaseholdJobsProps, 'warmThroughput' | 'worker' | 'workerPollers'>,
): void {
  const { warmThroughput, worker } = props;
  const { shards, maxStartsPerSecond, batchConcurrency } = settings;
  const units = unitsNeeded(settings);
  const indexUnits = warmThroughput?.writeUnitsPerSecond && 2 * warmThroughput.writeUnitsPerSecond;
  const warn = (id: string, text: string) => Annotations.of(scope).addWarningV2(`leasehold:${id}`, text);
  const needed = warmingFor(settings, indexUnits);
  if (needed !== undefined)
    warn(
      'partitions',
      `${loadOf(settings)} mean ${Math.ceil(units.index)} index write units a second, but a new index with shards (${shards}) carries about ${Math.floor(carriedAtOnce(shards, indexUnits))} from its first minute: keys share partitions until DynamoDB splits them, which takes minutes to half an hour. If the load comes at once, set shards to ${needed.shards} and warmThroughput to { writeUnitsPerSecond: ${needed.indexUnits / 2} } (the index gets twice that); if it grows, acknowledge this warning. See docs/operating/scale.md`,
    );
  if (units.index > QUOTA_WRITE_UNITS)
    warn(
      'quota',
      `${loadOf(settings)} mean ${Math.ceil(units.table)} write units a second of the table and ${Math.ceil(units.index)} of the index; an account has ${QUOTA_WRITE_UNITS} for each until it asks for more. Raise the quota 'Table-level write throughput limit' in Service Quotas before the load comes, or lengthen lease and heartbeat`,
    );
  const concurrency = concurrencyOf(settings, props);
  const startsOnLambda = (concurrency * batchConcurrency * 1000) / LEAST_INVOCATION_MS;
  if (worker !== 'none' && maxStartsPerSecond > startsOnLambda)
    warn(
      'starts',
      `${concurrency} concurrent invocations with batchConcurrency (${batchConcurrency}) start at most ${startsOnLambda} jobs a second, even where handlers take no time, and maxStartsPerSecond is ${maxStartsPerSecond}. Raise ${props.workerPollers === undefined ? 'workerConcurrency' : 'maximumPollers'} or batchConcurrency, or work in containers`,
    );
  const invocations = maxStartsPerSecond / batchConcurrency;
  if (worker !== 'none' && invocations > QUOTA_INVOCATIONS)
    warn(
      'invocations',
      `maxStartsPerSecond (${maxStartsPerSecond}) with batchConcurrency (${batchConcurrency}) means ${Math.ceil(invocations)} invocations a second; an account starts at most 10 for each of its concurrent executions, ${QUOTA_INVOCATIONS} until it asks for more than 1,000. Raise the quota 'Concurrent executions' in Service Quotas or batchConcurrency, or work in containers`,
    );
}
