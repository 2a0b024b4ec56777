import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import {
  AdjustmentType,
  MetricAggregationType,
  ScalableTarget,
  ServiceNamespace,
  StepScalingAction,
} from 'aws-cdk-lib/aws-applicationautoscaling';
import { Alarm, ComparisonOperator, type Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { ApplicationScalingAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import {
  type CapacityProviderStrategy,
  Cluster,
  ContainerInsights,
  FargateService,
  FargateTaskDefinition,
  LogDrivers,
} from 'aws-cdk-lib/aws-ecs';
import { Grant } from 'aws-cdk-lib/aws-iam';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { Settings } from '../../settings/settings.ts';
import { processVariables, settingVariable } from '../../wire/environment.ts';
import { acknowledge } from '../acknowledge.ts';
import type { ResourceProps } from '../props/leasehold-jobs-props.ts';
import { DEFAULT_GRACE_SECONDS, STOP_TIMEOUT_SECONDS } from './check-pools.ts';
import type { FargatePoolProps } from './compute.ts';

const HEALTH_PORT = 8080;
const MINUTE = Duration.minutes(1);
/** CloudWatch allows 20 steps in a policy. */
const MOST_STEPS = 20;
/** Minutes without jobs before the last container goes. */
const IDLE_MINUTES = 15;

export interface ServiceContext
  extends Pick<ResourceProps, 'logRetention' | 'removalPolicy' | 'logEncryptionKey'> {
  readonly settings: Settings;
  readonly environment: Readonly<Record<string, string>>;
  readonly tasksWanted: Metric;
}

export function createFargateService(
  home: Construct,
  props: FargatePoolProps,
  context: ServiceContext,
): FargateService {
  const cluster =
    props.cluster ??
    new Cluster(home, 'Cluster', {
      vpc: props.vpc,
      enableFargateCapacityProviders: true,
      containerInsightsV2: ContainerInsights.ENABLED,
    });
  const service = new FargateService(home, 'Service', {
    cluster,
    taskDefinition: createTask(home, cluster.clusterName, props, context),
    vpcSubnets: props.vpcSubnets,
    securityGroups: props.securityGroups,
    assignPublicIp: props.assignPublicIp,
    capacityProviderStrategies: capacityOf(props.spot ?? false),
    // A jobs module that cannot be loaded must not replace the one that works.
    circuitBreaker: { rollback: true },
    minHealthyPercent: 100,
    maxHealthyPercent: 200,
  });
  scale(home, service, cluster.clusterName, props, context.tasksWanted);
  return service;
}

function createTask(
  home: Construct,
  clusterName: string,
  props: FargatePoolProps,
  { settings, environment, ...context }: ServiceContext,
) {
  const { cpu = 1024, memory = 2048, runtimePlatform, protectMinutes = 0 } = props;
  const task = new FargateTaskDefinition(home, 'Task', { cpu, memoryLimitMiB: memory, runtimePlatform });
  const grace = props.shutdownGrace ?? Duration.seconds(DEFAULT_GRACE_SECONDS);
  task.addContainer('Worker', {
    image: props.image,
    environment: {
      ...props.environment,
      ...environment,
      [settingVariable('processConcurrency')]: String(props.concurrency ?? settings.processConcurrency),
      [settingVariable('shutdownGraceMs')]: String(grace.toMilliseconds()),
      [processVariables.healthPort]: String(HEALTH_PORT),
      ...(protectMinutes > 0 ? { [processVariables.protectMinutes]: String(protectMinutes) } : undefined),
    },
    stopTimeout: Duration.seconds(STOP_TIMEOUT_SECONDS),
    healthCheck: {
      command: [
        'CMD-SHELL',
        `node -e "fetch('http://127.0.0.1:${HEALTH_PORT}').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"`,
      ],
      startPeriod: MINUTE,
    },
    logging: LogDrivers.awsLogs({
      streamPrefix: 'worker',
      logGroup: new LogGroup(home, 'Logs', {
        retention: context.logRetention ?? RetentionDays.ONE_MONTH,
        removalPolicy: context.removalPolicy ?? RemovalPolicy.RETAIN,
        encryptionKey: context.logEncryptionKey,
      }),
    }),
  });
  if (protectMinutes > 0) allowProtection(task, clusterName);
  acknowledge(
    task,
    'AwsSolutions-ECS2',
    'The variables are settings and names of resources, as those of the functions; secrets belong in the image’s own configuration.',
  );
  return task;
}

/** The id of a task is not known before it runs, but its cluster is. */
function allowProtection(task: FargateTaskDefinition, clusterName: string): void {
  const stack = Stack.of(task);
  const tasks = stack.formatArn({ service: 'ecs', resource: 'task', resourceName: `${clusterName}/*` });
  Grant.addToPrincipal({
    grantee: task.taskRole,
    actions: ['ecs:UpdateTaskProtection'],
    resourceArns: [tasks],
  });
  acknowledge(
    task,
    `AwsSolutions-IAM5[Resource::${asNagNames(stack.resolve(tasks))}]`,
    'A task protects itself, and its id is not known before it runs.',
  );
}

function asNagNames(resolved: unknown): string {
  if (typeof resolved === 'string') return resolved;
  const { Ref, 'Fn::Join': joined } = resolved as { Ref?: string; 'Fn::Join'?: [string, unknown[]] };
  return joined === undefined ? `<${Ref}>` : joined[1].map(asNagNames).join(joined[0]);
}

/** Spot is never replaced by on-demand capacity, so one container stays on demand by default. */
function capacityOf(spot: boolean | 'only'): CapacityProviderStrategy[] | undefined {
  if (spot === false) return undefined;
  const strategy: CapacityProviderStrategy = { capacityProvider: 'FARGATE_SPOT', weight: 1 };
  return spot === 'only' ? [strategy] : [{ capacityProvider: 'FARGATE', base: 1, weight: 0 }, strategy];
}

/** Sets the exact size, because a busy container must not be taken away step by step. */
function scale(
  home: Construct,
  service: FargateService,
  clusterName: string,
  { max, min = 0 }: FargatePoolProps,
  metric: Metric,
): void {
  const scalingTarget = new ScalableTarget(home, 'Capacity', {
    serviceNamespace: ServiceNamespace.ECS,
    resourceId: `service/${clusterName}/${service.serviceName}`,
    scalableDimension: 'ecs:service:DesiredCount',
    minCapacity: min,
    maxCapacity: max,
  });
  const action = (
    id: string,
    tiers: readonly { lowerBound?: number; upperBound?: number; adjustment: number }[],
  ) => {
    const made = new StepScalingAction(home, id, {
      scalingTarget,
      adjustmentType: AdjustmentType.EXACT_CAPACITY,
      metricAggregationType: MetricAggregationType.MAXIMUM,
      cooldown: MINUTE,
    });
    for (const tier of tiers) made.addAdjustment(tier);
    return new ApplicationScalingAction(made);
  };
  const common = { metric, treatMissingData: TreatMissingData.IGNORE };
  new Alarm(home, 'TasksWanted', {
    ...common,
    alarmDescription:
      'Sets the size of the pool to what the reaper asks for. In alarm while jobs wait or run: no action is needed.',
    threshold: 1,
    evaluationPeriods: 1,
    comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
  }).addAlarmAction(action('Resize', stepsUpTo(max)));
  if (min > 0) return;
  new Alarm(home, 'Idle', {
    ...common,
    alarmDescription:
      'Ends the last container of an idle pool. In alarm while the pool is idle: no action is needed.',
    threshold: 0,
    evaluationPeriods: IDLE_MINUTES,
    comparisonOperator: ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD,
  }).addAlarmAction(action('Empty', [{ upperBound: 0, adjustment: 0 }]));
}

/** Bounds are relative to the threshold of 1; each step has room for its largest value. @internal */
export function stepsUpTo(max: number): { lowerBound: number; upperBound?: number; adjustment: number }[] {
  const count = Math.min(max, MOST_STEPS);
  const sizes = Array.from({ length: count }, (_, i) => Math.ceil(((i + 1) * max) / count));
  return sizes.map((size, i) => ({
    lowerBound: i === 0 ? 0 : (sizes[i - 1] as number),
    ...(i === count - 1 ? undefined : { upperBound: size }),
    adjustment: size,
  }));
}
