import { Duration } from 'aws-cdk-lib';
import type { FargateService } from 'aws-cdk-lib/aws-ecs';
import type { EventSourceMapping, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Settings } from '../../settings/settings.ts';
import { poolVariables } from '../../wire/environment.ts';
import type { Pools } from '../../wire/pools.ts';
import { type AccessTargets, functionAccess } from '../access.ts';
import { adoptWorker } from '../adopt-worker.ts';
import { feed } from '../feed.ts';
import { createWorker } from '../functions.ts';
import { addJobQueue } from '../job-queues.ts';
import { LeaseholdGrants } from '../leasehold-grants.ts';
import type { MeteredConstruct } from '../monitoring/metered-construct.ts';
import type { ResourceProps } from '../props/leasehold-jobs-props.ts';
import type { PoolProps } from './compute.ts';
import { createFargateService } from './fargate-service.ts';

/** A pool's queue and compute, to adjust or to run your own workers with. */
export interface JobPool {
  readonly types: readonly string[];
  readonly queue: Queue;
  /** The variables of your own worker of this pool; see `grants.work`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly grants: LeaseholdGrants;
  /** Of a pool made by `lambda()`. */
  readonly workerFunction?: LambdaFunction;
  readonly workerSource?: EventSourceMapping;
  /** Of a pool made by `fargate()`. */
  readonly service?: FargateService;
}

interface PoolQueue extends PoolProps {
  readonly home: Construct;
  readonly queue: Queue;
}

type PoolQueues = Readonly<Record<string, PoolQueue>>;

/** The queues come first, because every function gets their URLs. */
export const addPoolQueues = (
  scope: Construct,
  pools: Readonly<Record<string, PoolProps>>,
  settings: Settings,
  props: Pick<ResourceProps, 'encryptionKey' | 'removalPolicy'> & { readonly deadLetterQueue: Queue },
): PoolQueues =>
  Object.fromEntries(
    Object.entries(pools).map(([name, pool]) => {
      const home = new Construct(scope, `Pool-${name}`);
      return [name, { ...pool, home, queue: addJobQueue(home, settings, props) }];
    }),
  );

export const routesOf = (pools: PoolQueues, { processConcurrency }: Settings): Pools =>
  Object.fromEntries(
    Object.entries(pools).map(([name, { queue, types, compute }]) => {
      const route = { queueUrl: queue.queueUrl, types };
      if (compute?.kind !== 'fargate') return [name, route];
      const { max, concurrency = processConcurrency } = compute.props;
      return [name, { ...route, tasks: { max, concurrency } }];
    }),
  );

interface ComputeContext {
  readonly jobs: MeteredConstruct & { readonly settings: Settings };
  readonly props: ResourceProps;
  readonly targets: AccessTargets;
  readonly environment: Readonly<Record<string, string>>;
}

export const addCompute = (pools: PoolQueues, context: ComputeContext): Readonly<Record<string, JobPool>> =>
  Object.fromEntries(
    Object.entries(pools).map(([name, pool]) => {
      const { queue, types } = pool;
      const environment = { ...context.environment, [poolVariables.pool]: name };
      const targets = targetsOf(queue, context.targets);
      const grants = new LeaseholdGrants(targets);
      const compute = computeOf(name, pool, { ...context, environment, targets });
      if (compute.service !== undefined) grants.work(compute.service.taskDefinition.taskRole);
      return [name, { types, queue, environment, grants, ...compute }];
    }),
  );

const targetsOf = (queue: Queue, targets: AccessTargets): AccessTargets => ({
  ...targets,
  queue,
  poolQueues: [targets.queue, ...targets.poolQueues].filter((other) => other !== queue),
});

function computeOf(
  name: string,
  { compute, home, queue }: PoolQueue,
  { jobs, props, targets, environment }: ComputeContext,
): Pick<JobPool, 'workerFunction' | 'workerSource' | 'service'> {
  const { settings } = jobs;
  if (compute === undefined) return {};
  if (compute.kind === 'fargate') {
    const tasksWanted = jobs.metricOfPool('TasksWanted', name, { period: Duration.minutes(1) });
    return {
      service: createFargateService(home, compute.props, { ...props, settings, environment, tasksWanted }),
    };
  }
  const { function: own, functionProps, max = settings.workerConcurrency } = compute.props;
  const workerFunction =
    own === undefined
      ? createWorker(
          home,
          settings,
          { ...props, workerFunctionProps: functionProps },
          { ...props, environment, logLevel: settings.logLevel },
        )
      : adoptWorker(own, settings, environment);
  const fed = { queue, target: workerFunction, access: functionAccess.worker, targets };
  const workerSource = feed(home, 'WorkerSource', fed, {
    batchSize: settings.batchSize,
    maxBatchingWindow: Duration.millis(settings.batchWindowMs),
    maxConcurrency: max,
    reportBatchItemFailures: true,
  });
  return { workerFunction, workerSource };
}
