import type { Duration, RemovalPolicy } from 'aws-cdk-lib';
import type { ILambdaDeploymentConfig } from 'aws-cdk-lib/aws-codedeploy';
import type { Billing, WarmThroughput } from 'aws-cdk-lib/aws-dynamodb';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type {
  FunctionOptions,
  Function as LambdaFunction,
  ProvisionedPollerConfig,
} from 'aws-cdk-lib/aws-lambda';
import type { ICommandHooks } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Schedules } from '../../client/schedules/schedule.ts';
import type { BundlingOptions } from '../../tools/bundle/bundling.ts';
import type { PoolProps } from '../pools/compute.ts';
import type { SettingProps } from './setting-props.ts';

/** What Leasehold sets on the worker function itself: its promises rest on these. */
export const ownFunctionProps = [
  'role',
  'recursiveLoop',
  'environmentEncryption',
  'logGroup',
  'logRetention',
  'logRetentionRole',
  'logRetentionRetryOptions',
  'logRemovalPolicy',
  'logFormat',
  'loggingFormat',
  'applicationLogLevel',
  'applicationLogLevelV2',
  'systemLogLevel',
  'systemLogLevelV2',
] as const;

/** Props of the worker function: those of any Lambda function, except for what Leasehold sets. */
export type WorkerFunctionProps = Omit<FunctionOptions, (typeof ownFunctionProps)[number]>;

/** How a jobs module is bundled for a deployment. */
export interface WorkerBundling extends BundlingOptions {
  /** Commands to run after bundling, such as one that copies a file next to the bundle. @default - none */
  readonly commandHooks?: Pick<ICommandHooks, 'afterBundling'>;
}

/** What a deployment chooses besides its settings. Every prop but `jobs` has a default. */
export interface ResourceProps {
  /**
   * The value of the metric dimension `service`; also in logs and events.
   * @default - stack name and construct path, such as `Leasehold-Jobs`
   */
  readonly serviceName?: string;
  /** The file that exports your `registry`. Required unless you set `workerFunction` or `worker: 'none'`. */
  readonly jobs?: string;
  /** How `jobs` is bundled, in the terms of NodejsFunction. @default - into one file, with all packages */
  readonly bundling?: WorkerBundling;
  /** `'none'` deploys no worker function: for containers that run `leasehold work`. @default - a worker function */
  readonly worker?: 'none';
  /**
   * Replaces the function built from `jobs`. Its timeout must be `functionTimeout`, and its Node 22 or newer.
   * @default - built from `jobs`
   */
  readonly workerFunction?: LambdaFunction;
  /** The right compute for some types, by the name of their pool. @default - the worker runs all types */
  readonly pools?: Readonly<Record<string, PoolProps>>;
  /** Recurring jobs by name. `leasehold dev` runs those that the jobs module exports as `schedules`. @default - none */
  readonly schedules?: Schedules;
  /**
   * Props of the Lambda function built from `jobs`: memory (1769 MB is one core), timeout, architecture, VPC, layers, ephemeral
   * storage, tracing, variables. `NODE_OPTIONS` extends Leasehold's; `LEASEHOLD_*` is refused.
   * @default - 512 MB, `functionTimeout`, arm64, and the props of all functions
   */
  readonly workerFunctionProps?: WorkerFunctionProps;
  /** Reaper memory in MB. CPU grows with it, and so do the jobs it can reclaim per second. @default 512 */
  readonly reaperMemorySize?: number;
  /**
   * Concurrency reserved for the reaper, so that other functions cannot starve it. Lambda keeps 100 unreserved.
   * @default - none
   */
  readonly reaperReservedConcurrency?: number;
  /**
   * Shifts new worker code in steps and rolls back on alarms: `LambdaDeploymentConfig.CANARY_10PERCENT_10MINUTES`.
   * @default - all at once
   */
  readonly workerDeployment?: ILambdaDeploymentConfig;
  /**
   * The VPC of all functions. They need endpoints or a NAT gateway for DynamoDB, SQS, and EventBridge.
   * @default - no VPC
   */
  readonly vpc?: IVpc;
  /** The subnets of all functions. @default - the private subnets of `vpc` */
  readonly vpcSubnets?: SubnetSelection;
  /** The security groups of all functions. @default - one per function that allows its requests */
  readonly securityGroups?: ISecurityGroup[];
  /** Whether all functions use AWS's FIPS endpoints. @default false */
  readonly fips?: boolean;
  /**
   * A standard queue that you have, for jobs. In the same stack it gets the visibility timeout, retention, and dead-letter queue of a job
   * queue; for any other, synth says what to set.
   * @default - a new queue
   */
  readonly queue?: IQueue;
  /** Encrypts the table, the job queue, and the dead-letter queue. @default - AWS owned keys */
  readonly encryptionKey?: IKey;
  /**
   * Encrypts the functions' logs. An imported key must allow `logs.<region>.amazonaws.com`.
   * @default - an AWS owned key
   */
  readonly logEncryptionKey?: IKey;
  /** Encrypts the functions' variables. @default - an AWS owned key */
  readonly environmentEncryptionKey?: IKey;
  /**
   * `Billing.onDemand` with a maximum, or `Billing.provisioned` for a steady load; applies to the index too.
   * @default Billing.onDemand()
   */
  readonly billing?: Billing;
  /**
   * Capacity before the first load, charged once; the index gets twice the writes.
   * @default - 4,000 write units a second, growing with the load
   */
  readonly warmThroughput?: WarmThroughput;
  /**
   * Permanent pollers, billed by the hour, for a load that rises in seconds. They replace `workerConcurrency`.
   * @default - scaled by Lambda
   */
  readonly workerPollers?: ProvisionedPollerConfig;
  /** Whether you can restore the table to any second of the last 35 days. @default true */
  readonly pointInTimeRecovery?: boolean;
  /** Whether DynamoDB refuses to delete the table. @default - true, unless `removalPolicy` is DESTROY */
  readonly deletionProtection?: boolean;
  /** What happens to the table, queues and logs when they leave the stack. @default RemovalPolicy.RETAIN */
  readonly removalPolicy?: RemovalPolicy;
  /** How long CloudWatch keeps the functions' logs. @default RetentionDays.ONE_MONTH */
  readonly logRetention?: RetentionDays;
  /** The bus for events. @default - the account's default bus */
  readonly eventBus?: IEventBus;
  /**
   * Gets every alarm and its end. CloudWatch cannot publish to a topic encrypted with `alias/aws/sns`.
   * @default - alarms notify no one
   */
  readonly alarmTopic?: ITopic;
  /**
   * Gets urgent alarms instead of `alarmTopic`: jobs are not started, not reclaimed, or cannot be stored.
   * @default - alarmTopic
   */
  readonly pageTopic?: ITopic;
  /** Gets all other alarms instead of `alarmTopic`. @default - alarmTopic */
  readonly ticketTopic?: ITopic;
  /** Failed jobs in five minutes that trigger the alarm JobsFailed. @default 1 */
  readonly failureAlarmThreshold?: number;
  /** Crashed attempts in five minutes that trigger the alarm Crashes. @default 3 */
  readonly crashAlarmThreshold?: number;
  /** Reclaimed jobs in five minutes that trigger the alarm Reclaims. @default 1 */
  readonly reclaimAlarmThreshold?: number;
  /** Failed table requests and queue hints in five minutes that trigger the alarm StoreFailures. @default 3 */
  readonly storeFailureAlarmThreshold?: number;
  /** Throttled requests in two consecutive periods of five minutes that trigger the alarm Throttled. @default 10 */
  readonly throttleAlarmThreshold?: number;
  /** Messages returned unclaimed in five minutes that trigger the alarm MessagesReturned. @default 20 */
  readonly returnedAlarmThreshold?: number;
  /** Age of the oldest message that triggers the alarm QueueAge. @default Duration.hours(1) */
  readonly queueAgeAlarmThreshold?: Duration;
  /**
   * The runbook's URL for alarm descriptions; the section's anchor is appended.
   * @default - the runbook of the published package
   */
  readonly runbookUrl?: string;
  /** Whether there is a dashboard. $3.00 a month beyond an account's first three. @default true */
  readonly dashboard?: boolean;
  /** Whether X-Ray traces the functions. $5.00 per million recorded traces. @default false */
  readonly tracing?: boolean;
}

/** Props of LeaseholdJobs: its settings and the resources around them. */
export interface LeaseholdJobsProps extends SettingProps, ResourceProps {}
