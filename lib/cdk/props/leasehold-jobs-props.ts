import type { Duration, RemovalPolicy } from 'aws-cdk-lib';
import type { Billing, WarmThroughput } from 'aws-cdk-lib/aws-dynamodb';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Function as LambdaFunction, ProvisionedPollerConfig } from 'aws-cdk-lib/aws-lambda';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { Schedules } from '../../client/schedules/schedule.ts';
import type { SettingProps } from './setting-props.ts';

/** What a deployment chooses besides its settings. Every prop but `jobs` has a default. */
export interface ResourceProps {
  /**
   * Tells this deployment's metrics, logs and events from another's: the value of the metric dimension `service`.
   *
   * @default - the stack's name and the construct's path in it, such as `Leasehold-Jobs`
   */
  readonly serviceName?: string;

  /**
   * Your jobs module: the file that says `export const registry = createRegistry([...])`. The worker function is built from it.
   * Required, unless there is a `workerFunction`, or no function at all.
   */
  readonly jobs?: string;

  /**
   * `'none'` deploys no worker function and nothing that feeds one: for containers that run `leasehold work`, with the
   * construct's `environment` and `grants.work`.
   *
   * @default - a worker function, built from `jobs` or your own
   */
  readonly worker?: 'none';

  /**
   * A function of your own instead of the one built from `jobs`. It is given the environment, the permissions and
   * the queue; its timeout must be `functionTimeout`, and its Node 22 or newer.
   *
   * @default - a function is built from `jobs`
   */
  readonly workerFunction?: LambdaFunction;

  /**
   * Recurring jobs, by name: when, of which type, and with which payload. A jobs module that exports the same object as
   * `schedules` has them in `leasehold dev`, too.
   *
   * @default - none
   */
  readonly schedules?: Schedules;

  /**
   * Memory of the worker in MB. CPU grows with it: 1769 MB are one core.
   *
   * @default 512
   */
  readonly workerMemorySize?: number;

  /**
   * Concurrency that is kept for the reaper, so that no other function of the account can starve it. It is taken from what
   * all others share.
   *
   * @default - none is kept
   */
  readonly reaperReservedConcurrency?: number;

  /**
   * Variables for your handlers, besides Leasehold's own.
   *
   * @default - none
   */
  readonly workerEnvironment?: Readonly<Record<string, string>>;

  /**
   * Encrypts the table and both queues of messages.
   *
   * @default - keys that DynamoDB and SQS own
   */
  readonly encryptionKey?: IKey;

  /**
   * How the table and its index are paid for: `Billing.onDemand` with a maximum, or `Billing.provisioned` for a steady load.
   *
   * @default Billing.onDemand()
   */
  readonly billing?: Billing;

  /**
   * What the table can take at once, before its first load; the index gets twice the writes. Costs once. Without it a new
   * index has about four partitions, on which the keys of all shards are spread.
   *
   * @default - DynamoDB's own: 4,000 write units a second, growing with the load
   */
  readonly warmThroughput?: WarmThroughput;

  /**
   * Pollers of the job queue that are always there, for a load that rises within seconds. Each is billed by the hour. They take
   * the place of `workerConcurrency`, which Lambda does not allow beside them.
   *
   * @default - Lambda scales the pollers itself
   */
  readonly workerPollers?: ProvisionedPollerConfig;

  /**
   * Whether the table can be restored to any second of the last 35 days.
   *
   * @default true
   */
  readonly pointInTimeRecovery?: boolean;

  /**
   * Whether DynamoDB refuses to delete the table until this is switched off.
   *
   * @default - true, unless `removalPolicy` is DESTROY
   */
  readonly deletionProtection?: boolean;

  /**
   * What happens to everything that holds data (table, queues, logs) when it leaves the stack.
   *
   * @default RemovalPolicy.RETAIN
   */
  readonly removalPolicy?: RemovalPolicy;

  /**
   * How long CloudWatch keeps the functions' logs.
   *
   * @default RetentionDays.ONE_MONTH
   */
  readonly logRetention?: RetentionDays;

  /**
   * The bus that events go to.
   *
   * @default - the account's default bus
   */
  readonly eventBus?: IEventBus;

  /**
   * Notified of every alarm, and of its end. CloudWatch must be able to publish there: not to a topic that is encrypted with the
   * AWS managed key `alias/aws/sns`, whose policy does not allow it.
   *
   * @default - alarms change their state and notify nobody
   */
  readonly alarmTopic?: ITopic;

  /**
   * Failed jobs in five minutes from which the alarm JobsFailed goes off.
   *
   * @default 1
   */
  readonly failureAlarmThreshold?: number;

  /**
   * Attempts within five minutes whose worker or cell died, at which the alarm Crashes goes off.
   *
   * @default - 3, at which a host may also stop taking jobs
   */
  readonly crashAlarmThreshold?: number;

  /**
   * Requests to the table, and hints to the queue, that fail within five minutes, at which the alarm StoreFailures goes off.
   *
   * @default 3
   */
  readonly storeFailureAlarmThreshold?: number;

  /**
   * Requests that DynamoDB refuses for load in five minutes, twice in a row, at which the alarm Throttled goes off.
   *
   * @default 10
   */
  readonly throttleAlarmThreshold?: number;

  /**
   * Messages that go back to the queue unclaimed within five minutes, at which the alarm MessagesReturned goes off.
   *
   * @default 20
   */
  readonly returnedAlarmThreshold?: number;

  /**
   * Age of the oldest message at which the alarm QueueAge goes off.
   *
   * @default Duration.hours(1)
   */
  readonly queueAgeAlarmThreshold?: Duration;

  /**
   * Alarms on what the others see as well, only later or with less detail: AWS's own counts of dropped and
   * failed reapers and of throttling, and each late reclaim. Nine more metrics, $0.10 a month each.
   *
   * @default false
   */
  readonly moreAlarms?: boolean;

  /**
   * One alarm above all others, which alone tells `alarmTopic`. $0.50 a month.
   *
   * @default false
   */
  readonly compositeAlarm?: boolean;

  /**
   * The URL of the runbook, for the alarms' descriptions; the paragraph's anchor is appended.
   *
   * @default 'docs/runbook.md'
   */
  readonly runbookUrl?: string;

  /**
   * A dashboard of the system. $3.00 a month beyond the first three of an account.
   *
   * @default false
   */
  readonly dashboard?: boolean;

  /**
   * Whether X-Ray traces the functions. $5.00 for a million traces that are recorded.
   *
   * @default false
   */
  readonly tracing?: boolean;
}

/** Props of LeaseholdJobs: the settings, and what is deployed around them. */
export interface LeaseholdJobsProps extends SettingProps, ResourceProps {}
