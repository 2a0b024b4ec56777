import { Token } from 'aws-cdk-lib';
import { settingNames } from '../../settings/settings.ts';
import { SettingsError } from '../../settings/settings-error.ts';
import { VARIABLE_PREFIX } from '../../wire/environment.ts';
import { quoted } from '../../wire/message.ts';
import { didYouMean } from '../../wire/nearest.ts';
import { type LeaseholdJobsProps, ownFunctionProps, type ResourceProps } from './leasehold-jobs-props.ts';
import { propOf } from './settings-from-props.ts';

const resourceProps = {
  serviceName: true,
  jobs: true,
  bundling: true,
  worker: true,
  workerFunction: true,
  pools: true,
  schedules: true,
  workerFunctionProps: true,
  reaperMemorySize: true,
  reaperReservedConcurrency: true,
  workerDeployment: true,
  vpc: true,
  vpcSubnets: true,
  securityGroups: true,
  fips: true,
  queue: true,
  encryptionKey: true,
  logEncryptionKey: true,
  environmentEncryptionKey: true,
  billing: true,
  warmThroughput: true,
  workerPollers: true,
  pointInTimeRecovery: true,
  deletionProtection: true,
  removalPolicy: true,
  logRetention: true,
  eventBus: true,
  alarmTopic: true,
  pageTopic: true,
  ticketTopic: true,
  failureAlarmThreshold: true,
  crashAlarmThreshold: true,
  reclaimAlarmThreshold: true,
  storeFailureAlarmThreshold: true,
  throttleAlarmThreshold: true,
  returnedAlarmThreshold: true,
  queueAgeAlarmThreshold: true,
  runbookUrl: true,
  dashboard: true,
  tracing: true,
} as const satisfies Record<keyof ResourceProps, true>;

export const refusals = {
  fifo: 'FIFO queues are refused: they have no delay per message, which every retry and scheduled job needs, and a group would wait behind its crashed job. The row, not the queue, keeps a job from running twice; send a jobId of your own to deduplicate',
  replicas:
    'table replicas are refused: replication is last writer wins, so two regions could each grant the same lease. Deploy one stack in each region and send a job to one of them',
  managedInstances:
    'Lambda Managed Instances are refused: several invocations share a process there, and the worker ends its jobs and cells at the end of each. Remove the capacity provider, or run `leasehold work` in containers',
} as const;

const refusedProps: Readonly<Record<string, string>> = {
  fifo: refusals.fifo,
  fifoQueue: refusals.fifo,
  replicas: refusals.replicas,
  replicaRegions: refusals.replicas,
};

/** Each of Lambda's five pollers may hold a wake, and the schedule starts one more. */
export const LEAST_REAPER_CONCURRENCY = 6;

const knownProps = [...settingNames.map(propOf), ...Object.keys(resourceProps)];

/** Rejects unknown props, because a misspelled one would silently keep its default, and conflicting ones. */
export function checkProps(props: LeaseholdJobsProps): void {
  const problems = Object.entries(props)
    .filter(([name, value]) => value !== undefined && !knownProps.includes(name))
    .map(
      ([name]) =>
        refusedProps[name] ??
        `prop '${name}' is unknown.${didYouMean(name, knownProps)} Allowed: ${knownProps.join(', ')}`,
    );
  problems.push(...workerProblems(props), ...alarmProblems(props));
  if (props.vpc === undefined)
    problems.push(
      ...(['vpcSubnets', 'securityGroups'] as const)
        .filter((name) => props[name] !== undefined)
        .map((name) => `prop '${name}' has no effect without a 'vpc'. Add the VPC or remove it`),
    );
  problems.push(...reaperProblems(props), ...functionProblems(props));
  if (problems.length > 0) throw new SettingsError(problems);
}

/** https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html */
const MEMORY_MB = { least: 128, most: 10_240 };

function reaperProblems(props: LeaseholdJobsProps): string[] {
  const problems: string[] = [];
  const memory = props.reaperMemorySize;
  const { least, most } = MEMORY_MB;
  if (memory !== undefined && !(Number.isInteger(memory) && memory >= least && memory <= most))
    problems.push(
      `prop 'reaperMemorySize' is ${memory}; it must be a whole number from ${least} to ${most}, in MB. 1769 is one core`,
    );
  const reserved = props.reaperReservedConcurrency;
  if (reserved !== undefined && !(Number.isInteger(reserved) && reserved >= LEAST_REAPER_CONCURRENCY))
    problems.push(
      `prop 'reaperReservedConcurrency' is ${reserved}; it must be a whole number of at least ${LEAST_REAPER_CONCURRENCY}: five polls of the wake queue and the schedule may each start one, and a throttled wake comes late. Raise it or leave it out`,
    );
  return problems;
}

function functionProblems({ functionTimeout, fips, workerFunctionProps = {} }: LeaseholdJobsProps): string[] {
  const { environment = {}, timeout } = workerFunctionProps;
  const problems = Object.keys(environment)
    .filter((name) => name.startsWith(VARIABLE_PREFIX))
    .map(
      (name) =>
        `prop 'workerFunctionProps.environment' has ${name}; variables that begin with ${VARIABLE_PREFIX} are Leasehold's own. Set the prop of that name instead, or remove it`,
    );
  // The SDK allows one of them: https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html
  for (const name of fips === true ? Object.keys(environment) : [])
    if (name.startsWith('AWS_ENDPOINT_URL'))
      problems.push(
        `prop 'workerFunctionProps.environment' has ${name}, and prop 'fips' is true: the SDK refuses every request with both. Remove one of them`,
      );
  for (const name of ownFunctionProps)
    if (Object.hasOwn(workerFunctionProps, name))
      problems.push(
        `prop 'workerFunctionProps' has '${name}', which Leasehold sets itself. Remove it, or give a 'workerFunction' of your own`,
      );
  if (timeout !== undefined && functionTimeout !== undefined)
    problems.push(
      `props 'functionTimeout' and 'workerFunctionProps.timeout' are both given, and they are the same time. Remove one`,
    );
  return problems;
}

const thresholds = [
  'failureAlarmThreshold',
  'crashAlarmThreshold',
  'reclaimAlarmThreshold',
  'storeFailureAlarmThreshold',
  'throttleAlarmThreshold',
  'returnedAlarmThreshold',
] as const;

const LEAST_QUEUE_AGE_SECONDS = 60;

/** An alarm at zero would never clear. */
function alarmProblems(props: LeaseholdJobsProps): string[] {
  const problems = thresholds.flatMap((name) => {
    const value = props[name];
    return value === undefined || Token.isUnresolved(value) || (Number.isInteger(value) && value >= 1)
      ? []
      : [
          `prop '${name}' is ${quoted(value)}; it must be a whole number of at least 1, because the alarm goes off at it. Set it to 1 to be notified of each`,
        ];
  });
  const age = props.queueAgeAlarmThreshold;
  if (
    age !== undefined &&
    !age.isUnresolved() &&
    age.toSeconds({ integral: false }) < LEAST_QUEUE_AGE_SECONDS
  )
    problems.push(
      `prop 'queueAgeAlarmThreshold' is ${age.toSeconds({ integral: false })} s; it must be at least ${LEAST_QUEUE_AGE_SECONDS} s, because SQS reports the age once a minute. Raise it`,
    );
  if (props.runbookUrl?.includes('#'))
    problems.push(
      `prop 'runbookUrl' is ${quoted(props.runbookUrl)}; it must have no '#', because each alarm appends its own paragraph. Remove what follows it`,
    );
  return problems;
}

/** Its alarms would see new code when it is everywhere. */
const ALL_AT_ONCE = 'CodeDeployDefault.LambdaAllAtOnce';

const ofBuiltWorker = ['bundling', 'workerFunctionProps', 'workerDeployment'] as const;

const ofWorkerFunction = [
  'jobs',
  'workerFunction',
  ...ofBuiltWorker,
  'workerPollers',
  'workerConcurrency',
] as const;

function workerProblems(props: LeaseholdJobsProps): string[] {
  const { jobs, worker, workerFunction } = props;
  if (worker !== undefined && worker !== 'none')
    return [`prop 'worker' is ${quoted(worker)}; it must be 'none', or be left out for a worker function`];
  if (worker === 'none')
    return ofWorkerFunction
      .filter((name) => props[name] !== undefined)
      .map(
        (name) =>
          `prop '${name}' has no effect with worker: 'none'. Remove it; what runs in containers is set on them`,
      );
  if (props.workerPollers !== undefined && props.workerConcurrency !== undefined)
    return [
      `props 'workerPollers' and 'workerConcurrency' are both given, and Lambda takes one of them. Remove one`,
    ];
  if (jobs === undefined && workerFunction === undefined)
    return [
      `prop 'jobs' is missing: the file with export const registry = createRegistry([...]), such as jobs: 'src/jobs.ts'. For containers only, set worker: 'none'`,
    ];
  if (jobs !== undefined && workerFunction !== undefined)
    return [`props 'jobs' and 'workerFunction' are both given; a system has one worker. Remove one`];
  const steps = props.workerDeployment?.deploymentConfigName;
  if (workerFunction === undefined)
    return steps === ALL_AT_ONCE
      ? [
          `prop 'workerDeployment' is ${steps}: all invocations would run new code before an alarm sees it, so no alarm could roll it back. Use LambdaDeploymentConfig.CANARY_10PERCENT_10MINUTES, or leave it out`,
        ]
      : [];
  return ofBuiltWorker
    .filter((name) => props[name] !== undefined)
    .map((name) => `prop '${name}' has no effect with a 'workerFunction'. Set it on the function itself`);
}
