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
import { beatUnits, carriedAtOnce, warmingFor } from '../settings/partitions.ts';
import { UNITS_PER_BEAT } from '../settings/relations.ts';
import type { Settings } from '../settings/settings.ts';
import { SettingsError } from '../settings/settings-error.ts';
import { type IndexDefinition, jobsTable, type KeyType } from '../wire/table.ts';
import type { ResourceProps } from './props/leasehold-jobs-props.ts';

const attribute = ({ name, type }: { readonly name: string; readonly type: KeyType }): Attribute => ({
  name,
  type: type === 'S' ? AttributeType.STRING : AttributeType.NUMBER,
});

/** The jobs table, from the same definition that the store reads and the local engines create. */
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

/** Write units a second that were set as the most; undefined where there is no such limit. */
const mostUnits = (limits: WriteLimits): number | undefined =>
  limits.writeOnDemandThroughputSettings?.maxWriteRequestUnits ??
  limits.writeProvisionedThroughputSettings?.writeCapacityAutoScalingSettings?.maxCapacity;

/** Heartbeats that the table or its index may not take would be throttled for ever, and leases would lapse. */
export function refuseTooFewUnits(table: TableV2, settings: Settings): void {
  const resource = table.node.defaultChild;
  if (!(resource instanceof CfnGlobalTable)) return;
  const { maxRunning } = settings;
  const ofIndex = Math.ceil(beatUnits(settings));
  const indexes = Stack.of(table).resolve(resource.globalSecondaryIndexes) as readonly WriteLimits[];
  const problem = (what: string, needed: number, limits: WriteLimits): string[] => {
    const most = mostUnits(limits);
    return most === undefined || most >= needed
      ? []
      : [
          `maxRunning (${maxRunning}) means ${needed} write units a second of the ${what} in heartbeats alone, and 'billing' allows ${most}. Raise the maximum write units to ${2 * ofIndex} or more, lower maxRunning, or lengthen lease and heartbeat`,
        ];
  };
  const limits = Stack.of(table).resolve({
    writeOnDemandThroughputSettings: resource.writeOnDemandThroughputSettings,
    writeProvisionedThroughputSettings: resource.writeProvisionedThroughputSettings,
  }) as WriteLimits;
  const problems = [
    ...problem('table', Math.ceil(ofIndex / UNITS_PER_BEAT), limits),
    ...indexes.flatMap((index) => problem('index', ofIndex, index)),
  ];
  if (problems.length > 0) throw new SettingsError(problems);
}

/**
 * Warns of more running jobs than a new index carries from its first minute. No error: DynamoDB splits what stays hot, and
 * who grows into the load never sees it.
 */
export function warnOfFewPartitions(
  scope: Construct,
  settings: Settings,
  { warmThroughput }: Pick<ResourceProps, 'warmThroughput'>,
): void {
  const indexUnits = warmThroughput?.writeUnitsPerSecond && 2 * warmThroughput.writeUnitsPerSecond;
  const needed = warmingFor(settings, indexUnits);
  if (needed === undefined) return;
  const { maxRunning, shards } = settings;
  Annotations.of(scope).addWarningV2(
    'leasehold:partitions',
    `maxRunning (${maxRunning}) means ${beatUnits(settings)} index write units a second in heartbeats, but a new index with shards (${shards}) carries about ${Math.floor(carriedAtOnce(shards, indexUnits))} from its first minute: keys share partitions until DynamoDB splits them, which takes minutes to half an hour. If the load comes at once, set shards to ${needed.shards} and warmThroughput to { writeUnitsPerSecond: ${needed.indexUnits / 2} } (the index gets twice that); if it grows, acknowledge this warning. See docs/scale.md`,
  );
}
