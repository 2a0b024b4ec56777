import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Grant, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
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
import { DEAD_LETTER_TIMEOUT_SECONDS, REAPER_TIMEOUT_SECONDS } from '../wire/queues.ts';
import { acknowledge } from './acknowledge.ts';
import { checkJobsModule, functionCode, workerCode } from './bundling.ts';
import type { ResourceProps } from './props/leasehold-jobs-props.ts';

/** A tick that could not be delivered within a minute is of no use: the next one is there. */
export const TICK_AGE = Duration.seconds(60);

const DEFAULT_WORKER_MEMORY = 512;
/** Reaper and dead-letter consumer wait for the network most of the time. */
const SMALL_MEMORY = 256;

type FunctionContext = Pick<ResourceProps, 'logRetention' | 'removalPolicy' | 'tracing'> & {
  readonly environment: Readonly<Record<string, string>>;
};

/** Runs the handlers. Recursion is allowed: a job that releases itself at each deadline is a chain of invocations, which Lambda would cut after 16. */
export function createWorker(
  scope: Construct,
  settings: Settings,
  props: ResourceProps,
  context: FunctionContext,
): LambdaFunction {
  const { jobs = '', workerMemorySize = DEFAULT_WORKER_MEMORY, workerEnvironment = {} } = props;
  if (Stack.of(scope).bundlingRequired) checkJobsModule(jobs);
  return createFunction(scope, 'Worker', workerCode(jobs), {
    ...context,
    environment: { ...workerEnvironment, ...context.environment },
    description: 'Leasehold worker: claims jobs and runs their handlers',
    memorySize: workerMemorySize,
    timeout: Duration.millis(settings.functionTimeoutMs),
    recursiveLoop: RecursiveLoop.ALLOW,
  });
}

/**
 * Reclaims what lapsed. A failed run is not repeated: the next tick does the same, later. Each run starts the next by a
 * message, a loop that Lambda would cut after 16 rounds: https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
 */
export function createReaper(
  scope: Construct,
  { wakeQueue, reservedConcurrency }: { readonly wakeQueue: IQueue; readonly reservedConcurrency?: number },
  context: FunctionContext,
): LambdaFunction {
  return createFunction(scope, 'Reaper', functionCode('reaper'), {
    ...context,
    environment: { ...context.environment, [reaperVariables.wakeQueueUrl]: wakeQueue.queueUrl },
    description: 'Leasehold reaper: gives jobs with lapsed leases to the next worker',
    memorySize: SMALL_MEMORY,
    timeout: Duration.seconds(REAPER_TIMEOUT_SECONDS),
    recursiveLoop: RecursiveLoop.ALLOW,
    retryAttempts: 0,
    maxEventAge: TICK_AGE,
    reservedConcurrentExecutions: reservedConcurrency,
  });
}

/** Gives a row to messages that no worker ever claimed, so that the reaper looks after them. */
export function createDeadLetter(scope: Construct, context: FunctionContext): LambdaFunction {
  return createFunction(scope, 'DeadLetter', functionCode('dead-letter'), {
    ...context,
    description: 'Leasehold dead-letter consumer: keeps messages that were never claimed as pending jobs',
    memorySize: SMALL_MEMORY,
    timeout: Duration.seconds(DEAD_LETTER_TIMEOUT_SECONDS),
  });
}

type OwnProps = FunctionContext &
  Pick<
    FunctionProps,
    | 'description'
    | 'memorySize'
    | 'timeout'
    | 'recursiveLoop'
    | 'retryAttempts'
    | 'maxEventAge'
    | 'reservedConcurrentExecutions'
  >;

function createFunction(
  scope: Construct,
  id: string,
  code: Code,
  {
    logRetention = RetentionDays.ONE_MONTH,
    removalPolicy = RemovalPolicy.RETAIN,
    tracing = false,
    ...own
  }: OwnProps,
): LambdaFunction {
  // A scope of its own keeps the paths short: Worker/Function, Worker/Role, Worker/Logs.
  const home = new Construct(scope, id);
  const logGroup = new LogGroup(home, 'Logs', { retention: logRetention, removalPolicy });
  const role = new Role(home, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  // Not AWSLambdaBasicExecutionRole, which may write to every log group of the account.
  Grant.addToPrincipal({
    grantee: role,
    actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
    resourceArns: [logGroup.logGroupArn],
  });
  if (tracing)
    acknowledge(
      role,
      'AwsSolutions-IAM5[Resource::*]',
      'Active tracing needs xray:PutTraceSegments and xray:PutTelemetryRecords, which take no resource.',
    );
  return new LambdaFunction(home, 'Function', {
    ...own,
    environment: { ...own.environment, NODE_OPTIONS: '--enable-source-maps' },
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    tracing: tracing ? Tracing.ACTIVE : Tracing.DISABLED,
    // Three lines of Lambda's own for each invocation would be most of what is logged, and paid for.
    // https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
    loggingFormat: LoggingFormat.JSON,
    systemLogLevelV2: SystemLogLevel.WARN,
    handler: 'index.handler',
    code,
    role,
    logGroup,
  });
}
