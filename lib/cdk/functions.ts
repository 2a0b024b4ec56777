import { Annotations, ArnFormat, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Grant, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  ApplicationLogLevel,
  Architecture,
  type Code,
  type FunctionProps,
  Function as LambdaFunction,
  LoggingFormat,
  RecursiveLoop,
  Runtime,
  SystemLogLevel,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Settings } from '../settings/settings.ts';
import { reaperVariables } from '../wire/environment.ts';
import { DEAD_LETTER_TIMEOUT_SECONDS, REAPER_MEMORY_MB, REAPER_TIMEOUT_SECONDS } from '../wire/queues.ts';
import { acknowledge } from './acknowledge.ts';
import { checkJobsModule, functionCode, workerCode } from './bundling.ts';
import { allowNetworkInterfaces } from './network.ts';
import { LEAST_REAPER_CONCURRENCY } from './props/check-props.ts';
import type { ResourceProps, WorkerFunctionProps } from './props/leasehold-jobs-props.ts';
import type { SettingProps } from './props/setting-props.ts';

/** An older tick is useless, because the next one has already fired. */
export const TICK_AGE = Duration.seconds(60);

const DEFAULT_WORKER_MEMORY = 512;
const DEAD_LETTER_MEMORY = 256;

type FunctionContext = Pick<
  ResourceProps,
  | 'logRetention'
  | 'removalPolicy'
  | 'tracing'
  | 'vpc'
  | 'vpcSubnets'
  | 'securityGroups'
  | 'logEncryptionKey'
  | 'environmentEncryptionKey'
> & {
  readonly environment: Readonly<Record<string, string>>;
  readonly logLevel: Settings['logLevel'];
};

/** Allows recursion: each deadline continues a job in another invocation, and Lambda stops such chains after 16. */
export function createWorker(
  scope: Construct,
  settings: Settings,
  props: ResourceProps,
  context: FunctionContext,
): LambdaFunction {
  const { jobs = '', bundling = {}, workerFunctionProps = {} } = props;
  const { environment = {}, architecture = Architecture.ARM_64, ...chosen } = workerFunctionProps;
  if (Stack.of(scope).bundlingRequired) checkJobsModule(jobs);
  return createFunction(scope, 'Worker', workerCode(scope, jobs, bundling, environment, architecture), {
    ...context,
    environment: { ...environment, ...context.environment },
    description: 'Leasehold worker: claims jobs and runs their handlers',
    memorySize: DEFAULT_WORKER_MEMORY,
    architecture,
    chosen,
    timeout: Duration.millis(settings.functionTimeoutMs),
    recursiveLoop: RecursiveLoop.ALLOW,
  });
}

/** Allows recursion for the chain of wakes: https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html */
export function createReaper(
  scope: Construct,
  wakeQueue: IQueue,
  props: Pick<ResourceProps, 'reaperMemorySize' | 'reaperReservedConcurrency'>,
  context: FunctionContext,
): LambdaFunction {
  return createFunction(scope, 'Reaper', functionCode('reaper'), {
    ...context,
    environment: { ...context.environment, [reaperVariables.wakeQueueUrl]: wakeQueue.queueUrl },
    description: 'Leasehold reaper: gives jobs with lapsed leases to the next worker',
    memorySize: props.reaperMemorySize ?? REAPER_MEMORY_MB,
    timeout: Duration.seconds(REAPER_TIMEOUT_SECONDS),
    recursiveLoop: RecursiveLoop.ALLOW,
    retryAttempts: 0,
    maxEventAge: TICK_AGE,
    reservedConcurrentExecutions: props.reaperReservedConcurrency,
  });
}

/** Lambda's defaults: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html */
const INVOCATIONS_PER_POLLER = 10;
const DEFAULT_MAXIMUM_POLLERS = 200;

export const concurrencyOf = (
  { workerConcurrency }: Pick<Settings, 'workerConcurrency'>,
  { workerPollers }: Pick<ResourceProps, 'workerPollers'>,
): number =>
  workerPollers === undefined
    ? workerConcurrency
    : INVOCATIONS_PER_POLLER * (workerPollers.maximumPollers ?? DEFAULT_MAXIMUM_POLLERS);

/** New accounts have a limit of 10: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
export function warnOfStarvedReaper(
  scope: Construct,
  settings: Settings,
  props: Pick<ResourceProps, 'worker' | 'workerPollers' | 'reaperReservedConcurrency'> &
    Pick<SettingProps, 'workerConcurrency'>,
): void {
  const isDecided =
    props.worker === 'none' || (props.workerConcurrency ?? props.reaperReservedConcurrency) !== undefined;
  if (isDecided) return;
  const least = LEAST_REAPER_CONCURRENCY;
  const otherwise =
    props.workerPollers === undefined
      ? `set workerConcurrency to at most the limit minus ${least}`
      : `lower maximumPollers, which start ${INVOCATIONS_PER_POLLER} invocations each, to stay ${least} below the limit`;
  Annotations.of(scope).addWarningV2(
    'leasehold:concurrency',
    `workers may take ${concurrencyOf(settings, props)} of the account's concurrent executions, and new accounts have 10: then none is left for the reaper, and jobs of dead workers wait. See the limit with 'aws lambda get-account-settings'. Where it is 110 or more, set reaperReservedConcurrency to ${least}; else ${otherwise}`,
  );
}

export function createDeadLetter(scope: Construct, context: FunctionContext): LambdaFunction {
  return createFunction(scope, 'DeadLetter', functionCode('dead-letter'), {
    ...context,
    description: 'Leasehold dead-letter consumer: keeps messages that were never claimed as pending jobs',
    memorySize: DEAD_LETTER_MEMORY,
    timeout: Duration.seconds(DEAD_LETTER_TIMEOUT_SECONDS),
  });
}

type OwnProps = FunctionContext &
  Pick<
    FunctionProps,
    | 'architecture'
    | 'description'
    | 'memorySize'
    | 'timeout'
    | 'recursiveLoop'
    | 'retryAttempts'
    | 'maxEventAge'
    | 'reservedConcurrentExecutions'
  > & { readonly chosen?: WorkerFunctionProps };

function createFunction(
  scope: Construct,
  id: string,
  code: Code,
  {
    logRetention = RetentionDays.ONE_MONTH,
    removalPolicy = RemovalPolicy.RETAIN,
    tracing = false,
    logLevel,
    logEncryptionKey,
    environmentEncryptionKey,
    chosen,
    ...ours
  }: OwnProps,
): LambdaFunction {
  const own = { tracing: tracing ? Tracing.ACTIVE : Tracing.DISABLED, ...ours, ...chosen };
  const home = new Construct(scope, id);
  const logGroup = new LogGroup(home, 'Logs', {
    retention: logRetention,
    removalPolicy,
    encryptionKey: logEncryptionKey,
  });
  const role = new Role(home, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  // AWSLambdaBasicExecutionRole could write to every log group of the account.
  Grant.addToPrincipal({
    grantee: role,
    actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
    resourceArns: [logGroup.logGroupArn],
  });
  if (own.vpc !== undefined) allowNetworkInterfaces(role);
  environmentEncryptionKey?.grantDecrypt(role);
  if (own.tracing !== Tracing.DISABLED || own.vpc !== undefined)
    acknowledge(
      role,
      'AwsSolutions-IAM5[Resource::*]',
      'Permissions of active tracing and of network interfaces in a VPC take no resource.',
    );
  return new LambdaFunction(home, 'Function', {
    architecture: Architecture.ARM_64,
    ...own,
    environmentEncryption: environmentEncryptionKey,
    environment: { ...ours.environment, NODE_OPTIONS: nodeOptions(ours.environment) },
    runtime: Runtime.NODEJS_24_X,
    // Without an explicit level, Lambda passes INFO to Powertools, which overrides the setting.
    // https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
    loggingFormat: LoggingFormat.JSON,
    applicationLogLevelV2: ApplicationLogLevel[logLevel],
    // Keeps the REPORT lines with memory, billed duration and init time.
    systemLogLevelV2: SystemLogLevel.INFO,
    handler: 'index.handler',
    code,
    role,
    logGroup,
  });
}

/** https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html */
export function allowLogs(scope: Construct, key: IKey | undefined): void {
  const stack = Stack.of(scope);
  const logGroups = stack.formatArn({
    service: 'logs',
    resource: 'log-group',
    resourceName: '*',
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  key?.addToResourcePolicy(
    new PolicyStatement({
      actions: ['kms:Encrypt*', 'kms:Decrypt*', 'kms:ReEncrypt*', 'kms:GenerateDataKey*', 'kms:Describe*'],
      principals: [new ServicePrincipal(`logs.${stack.region}.${stack.urlSuffix}`)],
      resources: ['*'],
      conditions: { ArnLike: { 'kms:EncryptionContext:aws:logs:arn': logGroups } },
    }),
  );
}

const nodeOptions = ({ NODE_OPTIONS: given }: Readonly<Record<string, string>>): string =>
  given === undefined ? '--enable-source-maps' : `${given} --enable-source-maps`;
