import type { Settings } from '../../settings/settings.ts';
import { VARIABLE_PREFIX } from '../../wire/environment.ts';
import { quoted } from '../../wire/message.ts';
import { poolProblems } from '../../wire/pools.ts';
import type { ResourceProps } from '../props/leasehold-jobs-props.ts';
import type { FargatePoolProps, LambdaPoolProps, PoolProps } from './compute.ts';

type Problem = string | false;

/** Fargate's own maximum: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_definition_parameters.html */
export const STOP_TIMEOUT_SECONDS = 120;
export const DEFAULT_GRACE_SECONDS = 80;
const LAST_POLL_SECONDS = 20;
/** The longest URL of a queue, for text whose tokens are not resolved yet. */
const LONGEST_URL = `https://sqs.${'r'.repeat(14)}.amazonaws.com/${'0'.repeat(12)}/${'q'.repeat(80)}`;
/** https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html */
const CONCURRENCY = { least: 2, most: 1000 };
const MOST_TASKS = 1000;

export function checkPools(
  pools: Readonly<Record<string, PoolProps>>,
  settings: Settings,
  { jobs }: Pick<ResourceProps, 'jobs'>,
): string[] {
  const routes = Object.entries(pools).map(([name, { types = [], compute }]) => {
    const tasks = compute?.kind === 'fargate' ? { tasks: { max: 1000, concurrency: 1000 } } : {};
    return [name, { queueUrl: LONGEST_URL, types, ...tasks }] as const;
  });
  const problems = [
    ...poolProblems(Object.fromEntries(routes)),
    ...Object.entries(pools).flatMap(([name, { compute }]) => {
      if (compute === undefined) return [];
      if (compute?.kind === 'fargate') return fargateProblems(name, compute.props, settings);
      if (compute?.kind === 'lambda') return lambdaProblems(name, compute.props, jobs);
      return `pool '${name}' has a 'compute' that neither lambda() nor fargate() made. Use lambda({ function }) for your own function; for your own service leave 'compute' out, and use jobs.pools.${name}.environment and grants.work`;
    }),
  ];
  return problems.filter((problem): problem is string => problem !== false);
}

function lambdaProblems(
  pool: string,
  { max, functionProps = {}, ...own }: LambdaPoolProps,
  jobs: string | undefined,
): Problem[] {
  const { least, most } = CONCURRENCY;
  return [
    max !== undefined &&
      !isWhole(max, least, most) &&
      `pool '${pool}' has a 'max' of ${quoted(max)}; it must be a whole number from ${least} to ${most}, as Lambda allows for a queue`,
    own.function === undefined &&
      jobs === undefined &&
      `pool '${pool}' has neither a 'function' nor the prop 'jobs' to build one from. Give lambda({ function }), or 'jobs' without worker: 'none' and 'workerFunction'`,
    own.function !== undefined &&
      Object.keys(functionProps).length > 0 &&
      `pool '${pool}' has 'function' and 'functionProps'; set those props on your own function`,
    ...variableProblems(pool, functionProps.environment),
  ];
}

function fargateProblems(pool: string, props: FargatePoolProps, settings: Settings): Problem[] {
  const { max, min = 0, concurrency, protectMinutes = 0, cluster, vpc, image } = props;
  const grace = props.shutdownGrace?.toSeconds() ?? DEFAULT_GRACE_SECONDS;
  const killSeconds = Math.ceil(settings.killAfterMs / 1000);
  const longest = STOP_TIMEOUT_SECONDS - killSeconds - LAST_POLL_SECONDS;
  return [
    image === undefined &&
      `pool '${pool}' has no 'image'; give it a ContainerImage that runs 'leasehold work'`,
    !isWhole(max, 1, MOST_TASKS) &&
      `pool '${pool}' has a 'max' of ${quoted(max)}; it must be a whole number of containers from 1 to ${MOST_TASKS}`,
    !isWhole(min, 0, max) &&
      `pool '${pool}' has a 'min' of ${quoted(min)}; it must be a whole number from 0 to its 'max' of ${max}`,
    concurrency !== undefined &&
      !isWhole(concurrency, 1, 1000) &&
      `pool '${pool}' has a 'concurrency' of ${quoted(concurrency)}; it must be a whole number from 1 to 1000`,
    !isWhole(protectMinutes, 0, 2880) &&
      `pool '${pool}' has 'protectMinutes' of ${quoted(protectMinutes)}; it must be a whole number from 0 to 2880`,
    grace > longest &&
      `pool '${pool}' has a 'shutdownGrace' of ${grace} s; with killAfterMs (${settings.killAfterMs}) and ${LAST_POLL_SECONDS} s for the last poll that is more than the ${STOP_TIMEOUT_SECONDS} s after which Fargate kills a container. ${longest < 0 ? 'Lower killAfterMs' : `Lower it to ${longest} s or less`}`,
    cluster === undefined &&
      vpc === undefined &&
      `pool '${pool}' has neither 'cluster' nor 'vpc', and containers need a network. Give one of them`,
    ...variableProblems(pool, props.environment),
  ];
}

const variableProblems = (pool: string, environment: Readonly<Record<string, string>> = {}): string[] =>
  Object.keys(environment)
    .filter((name) => name.startsWith(VARIABLE_PREFIX))
    .map(
      (name) =>
        `pool '${pool}' sets ${name}; variables that begin with ${VARIABLE_PREFIX} are Leasehold's own. Set the prop of that name instead, or remove it`,
    );

const isWhole = (value: unknown, least: number, most: number): boolean =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
