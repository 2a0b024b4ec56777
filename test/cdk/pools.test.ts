import { Duration, Stack } from 'aws-cdk-lib';
import { Match } from 'aws-cdk-lib/assertions';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { ContainerImage } from 'aws-cdk-lib/aws-ecs';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PoolCompute, PoolProps } from '../../lib/cdk/pools/compute.ts';
import { type FargatePoolProps, fargate, lambda } from '../../lib/cdk/pools/compute.ts';
import { stepsUpTo } from '../../lib/cdk/pools/fargate-service.ts';
import { configurationFromEnvironment } from '../../lib/settings/environment.ts';
import { POOL_ALARM_METRICS } from '../../lib/tools/plan/pool-bill.ts';
import { poolsInTags } from '../../lib/wire/schedule-group.ts';
import { alarmsOf, metricsIn } from './alarms-of.ts';
import { permissionsOf } from './policies.ts';
import { flat, resourceOf, type Synthesized, synthesizeJobs, withoutValidation } from './support.ts';

withoutValidation();

const image = ContainerImage.fromRegistry('worker');
const withPools = (build: (stack: Stack) => Readonly<Record<string, PoolProps>>): Synthesized =>
  synthesizeJobs((stack) => ({ pools: build(stack) }));
const withContainers = (props: Partial<FargatePoolProps> = {}) =>
  withPools((stack) => ({
    render: { types: ['render'], compute: fargate({ image, max: 20, vpc: new Vpc(stack, 'Vpc'), ...props }) },
  }));

type Variables = Readonly<Record<string, string>>;
const containerOf = ({ template }: Synthesized) => {
  const [task] = Object.values(template.findResources('AWS::ECS::TaskDefinition'));
  const container = task?.Properties.ContainerDefinitions[0];
  const listed = flat(container.Environment) as { Name: string; Value: string }[];
  return {
    ...container,
    variables: Object.fromEntries(listed.map(({ Name, Value }) => [Name, Value])) as Variables,
  };
};

describe('pools', () => {
  let made: Synthesized;
  beforeAll(() => {
    made = withPools((stack) => ({
      render: { types: ['render'], compute: fargate({ image, max: 20, vpc: new Vpc(stack, 'Vpc') }) },
      mail: { types: ['mail', 'letter'], compute: lambda({ max: 7, functionProps: { memorySize: 256 } }) },
      own: { types: ['index'] },
    }));
  });
  const variablesOf = (fn: LambdaFunction) =>
    flat((resourceOf(made, fn).Properties.Environment as { Variables: Variables }).Variables) as Variables;

  it('are in the tags by which the command line finds the deployment', () => {
    const [group] = Object.values(made.template.findResources('AWS::Scheduler::ScheduleGroup'));
    const { Tags } = flat(group?.Properties) as { Tags: { Key: string; Value: string }[] };
    const { pools } = configurationFromEnvironment(variablesOf(made.jobs.workerFunction)).routing ?? {};
    expect(poolsInTags(Object.fromEntries(Tags.map(({ Key, Value }) => [Key, Value])))).toEqual(pools);
  });

  it('are in the variables of every function, with the pool of each worker', () => {
    const { jobs } = made;
    const { pools } = configurationFromEnvironment(variablesOf(jobs.workerFunction)).routing ?? {};
    expect(pools).toEqual({
      render: {
        queueUrl: expect.stringMatching(/^<JobsPoolrender/),
        types: ['render'],
        tasks: { max: 20, concurrency: 10 },
      },
      mail: { queueUrl: expect.stringMatching(/^<JobsPoolmail/), types: ['mail', 'letter'] },
      own: { queueUrl: expect.stringMatching(/^<JobsPoolown/), types: ['index'] },
    });
    const mail = jobs.pools.mail?.workerFunction as LambdaFunction;
    for (const [fn, pool] of [
      [jobs.workerFunction, 'default'],
      [jobs.deadLetterFunction, 'default'],
      [mail, 'mail'],
    ] as const)
      expect(configurationFromEnvironment(variablesOf(fn)).routing).toEqual({ pool, pools });
    expect(configurationFromEnvironment(containerOf(made).variables).routing).toEqual({
      pool: 'render',
      pools,
    });
    const environment = flat(made.stack.resolve(jobs.pools.own?.environment)) as Variables;
    expect(configurationFromEnvironment(environment).routing).toEqual({ pool: 'own', pools });
  });

  it('have a queue each, which outlives them, and share the dead-letter queue', () => {
    const queues = Object.entries(made.template.findResources('AWS::SQS::Queue')).filter(([id]) =>
      /Pool/.test(id),
    );
    expect(queues).toHaveLength(3);
    for (const [, queue] of queues) {
      expect(queue.DeletionPolicy).toBe('Retain');
      expect(flat(queue.Properties.RedrivePolicy)).toEqual({
        deadLetterTargetArn: expect.stringMatching(/^<JobsDeadLetterQueue/),
        maxReceiveCount: 10,
      });
    }
  });

  it('of Lambda have a function and an event source of their own', () => {
    const { mail } = made.jobs.pools;
    expect(resourceOf(made, mail?.workerFunction as LambdaFunction).Properties).toMatchObject({
      MemorySize: 256,
      Timeout: 900,
    });
    made.template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      EventSourceArn: made.stack.resolve(mail?.queue.queueArn),
      ScalingConfig: { MaximumConcurrency: 7 },
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    });
  });

  it('may send to every queue, and receive from their own alone', () => {
    const sqs = (policy: RegExp) =>
      permissionsOf(made.template, policy).filter((each) => each.startsWith('sqs:'));
    const others = ['PoolownQueue', 'PoolrenderQueue', 'Queue'];
    expect(sqs(/^JobsPoolmailWorker/)).toEqual(
      [
        ...[
          'ChangeMessageVisibility',
          'DeleteMessage',
          'GetQueueAttributes',
          'ReceiveMessage',
          'SendMessage',
        ].map((action) => `sqs:${action} on PoolmailQueue`),
        ...others.map((queue) => `sqs:SendMessage on ${queue}`),
      ].sort(),
    );
    expect(sqs(/^JobsPoolrenderTask/)).toContain('sqs:ReceiveMessage on PoolrenderQueue');
    expect(sqs(/^JobsPoolrenderTask/)).not.toContain('sqs:ReceiveMessage on Queue');
    expect(sqs(/^JobsReaper/)).toEqual(
      expect.arrayContaining([
        'sqs:GetQueueAttributes on PoolrenderQueue',
        'sqs:SendMessage on PoolmailQueue',
      ]),
    );
    expect(sqs(/^JobsReaper/)).not.toContain('sqs:GetQueueAttributes on PoolmailQueue');
    expect(sqs(/^JobsDeadLetter/)).toContain('sqs:SendMessage on PoolownQueue');
  });

  it('add what the bill says: alarms of three metrics each, and for containers one metric that two more watch', () => {
    const { each, scaling } = POOL_ALARM_METRICS;
    const pools = Object.entries(alarmsOf(made)).filter(([id]) => id.includes('-'));
    expect(pools.flatMap(([, alarm]) => metricsIn(alarm))).toHaveLength(3 * each);
    const wanted = Object.values(made.template.findResources('AWS::CloudWatch::Alarm')).filter(
      ({ Properties }) => Properties.MetricName === 'TasksWanted',
    );
    expect(wanted).toHaveLength(scaling);
    expect(new Set(wanted.map(({ Properties }) => JSON.stringify(Properties.Dimensions))).size).toBe(1);
  });
});

describe('a schedule of a type in a pool', () => {
  it('sends its ticks to the queue of the pool', () => {
    const schedules = {
      nightly: { type: 'render', cron: '0 3 * * ? *' },
      hourly: { type: 'count-primes', rate: '1 hour' },
    };
    const made = synthesizeJobs(() => ({ schedules, pools: { own: { types: ['render'] } } }));
    const targets = Object.values(made.template.findResources('AWS::Scheduler::Schedule')).map(
      ({ Properties }) => [Properties.Name, flat(Properties.Target.Arn)],
    );
    expect(Object.fromEntries(targets)).toMatchObject({
      nightly: expect.stringMatching(/^<JobsPoolownQueue/),
      hourly: expect.stringMatching(/^<JobsQueue/),
    });
  });
});

describe('a pool of containers', () => {
  it('drains within Fargate’s two minutes, and says how it is', () => {
    const { variables, ...container } = containerOf(withContainers());
    expect(container).toMatchObject({
      StopTimeout: 120,
      HealthCheck: { Command: ['CMD-SHELL', expect.stringContaining('127.0.0.1:8080')] },
    });
    expect(variables).toMatchObject({
      LEASEHOLD_SHUTDOWN_GRACE_MS: '80000',
      LEASEHOLD_HEALTH_PORT: '8080',
      LEASEHOLD_POOL: 'render',
    });
  });

  it('rolls a bad deployment back', () => {
    withContainers().template.hasResourceProperties('AWS::ECS::Service', {
      DeploymentConfiguration: Match.objectLike({
        DeploymentCircuitBreaker: { Enable: true, Rollback: true },
      }),
    });
  });

  it('takes the size that the reaper asks for, and none after 15 idle minutes', () => {
    const { template } = withContainers();
    template.hasResourceProperties('AWS::ApplicationAutoScaling::ScalableTarget', {
      MinCapacity: 0,
      MaxCapacity: 20,
    });
    const metric = {
      Namespace: 'Leasehold',
      MetricName: 'TasksWanted',
      Dimensions: Match.arrayWith([{ Name: 'pool', Value: 'render' }]),
      Statistic: 'Maximum',
      Period: 60,
      TreatMissingData: 'ignore',
    };
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      ...metric,
      Threshold: 1,
      EvaluationPeriods: 1,
    });
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      ...metric,
      ...{ Threshold: 0, EvaluationPeriods: 15, ComparisonOperator: 'LessThanOrEqualToThreshold' },
    });
    const policies = Object.values(template.findResources('AWS::ApplicationAutoScaling::ScalingPolicy'));
    for (const { Properties } of policies)
      expect(Properties.StepScalingPolicyConfiguration.AdjustmentType).toBe('ExactCapacity');
    expect(policies).toHaveLength(2);
  });

  it.each([1, 2, 19, 20, 21, 57, 1000])(
    'has room for every value with at most 20 steps of up to %i',
    (max) => {
      const steps = stepsUpTo(max);
      expect(steps.length).toBeLessThanOrEqual(20);
      for (let wanted = 1; wanted <= max; wanted++) {
        const at = wanted - 1;
        const [step, ...more] = steps.filter(
          ({ lowerBound, upperBound = Number.POSITIVE_INFINITY }) => lowerBound <= at && at < upperBound,
        );
        expect(more).toEqual([]);
        expect(step?.adjustment).toBeGreaterThanOrEqual(wanted);
        expect(step?.adjustment).toBeLessThanOrEqual(max);
        if (max <= 20) expect(step?.adjustment).toBe(wanted);
      }
    },
  );

  it.each([
    [
      'with the first on demand',
      true,
      [
        { CapacityProvider: 'FARGATE', Base: 1, Weight: 0 },
        { CapacityProvider: 'FARGATE_SPOT', Weight: 1 },
      ],
    ],
    ['with nothing else', 'only', [{ CapacityProvider: 'FARGATE_SPOT', Weight: 1 }]],
  ] as const)('runs on Spot %s', (_, spot, CapacityProviderStrategy) => {
    withContainers({ spot }).template.hasResourceProperties('AWS::ECS::Service', {
      CapacityProviderStrategy: CapacityProviderStrategy.map((each) => Match.objectLike(each)),
    });
  });

  it('may protect its tasks only where that is wanted', () => {
    const ecs = (made: Synthesized) =>
      permissionsOf(made.template, /^JobsPoolrenderTask/).filter((each) => each.startsWith('ecs:'));
    expect(ecs(withContainers())).toEqual([]);
    const protecting = withContainers({ protectMinutes: 60 });
    expect(ecs(protecting)).toEqual([
      expect.stringMatching(
        /^ecs:UpdateTaskProtection on arn:aws:ecs:.*:task\/<JobsPoolrenderCluster\w+>\/\*$/,
      ),
    ]);
    expect(containerOf(protecting).variables.LEASEHOLD_PROTECT_MINUTES).toBe('60');
  });
});

describe('a pool that cannot work', () => {
  const vpc = () => new Vpc(new Stack(), 'Vpc');
  it.each<[string, Readonly<Record<string, PoolProps>>, string]>([
    [
      'a type in two pools',
      { a: { types: ['x'] }, b: { types: ['x'] } },
      "type 'x' is in the pools 'a' and 'b'",
    ],
    [
      'no network',
      { a: { types: ['x'], compute: fargate({ image, max: 1 }) } },
      "neither 'cluster' nor 'vpc'",
    ],
    [
      'too long a grace',
      {
        a: {
          types: ['x'],
          compute: fargate({ image, max: 1, vpc: vpc(), shutdownGrace: Duration.seconds(100) }),
        },
      },
      'Lower it to 90 s or less',
    ],
    [
      'min above max',
      { a: { types: ['x'], compute: fargate({ image, max: 1, min: 2, vpc: vpc() }) } },
      "'min' of 2",
    ],
    ['no containers', { a: { types: ['x'], compute: fargate({ image, max: 0, vpc: vpc() }) } }, "'max' of 0"],
    [
      'longer to kill than Fargate waits',
      {
        a: {
          types: ['x'],
          compute: fargate({ image, max: 1, vpc: vpc(), shutdownGrace: Duration.seconds(96) }),
        },
      },
      "pool 'a' has a 'shutdownGrace' of 96 s; with killAfterMs (10000)",
    ],
    [
      'compute of another kind',
      { a: { types: ['x'], compute: { kind: 'ec2' } as unknown as PoolCompute } },
      "pool 'a' has a 'compute' that neither lambda() nor fargate() made",
    ],
    ['too little concurrency', { a: { types: ['x'], compute: lambda({ max: 1 }) } }, 'from 2 to 1000'],
    [
      'variables of ours',
      { a: { types: ['x'], compute: lambda({ functionProps: { environment: { LEASEHOLD_POOL: 'b' } } }) } },
      "pool 'a' sets LEASEHOLD_POOL",
    ],
  ])('is refused at synth: %s', (_, pools, message) => {
    expect(() => withPools(() => pools)).toThrow(message);
  });

  it('is refused where it has no function, and no jobs module to build one from', () => {
    const pools = { a: { types: ['x'], compute: lambda() } };
    expect(() => synthesizeJobs(() => ({ jobs: undefined, worker: 'none', pools }))).toThrow(
      "pool 'a' has neither a 'function' nor the prop 'jobs'",
    );
  });

  it('is refused where its own function times out at another time', () => {
    const build = () =>
      withPools((stack) => {
        const code = Code.fromInline('exports.handler = async () => {}');
        const own = new LambdaFunction(stack, 'Own', {
          runtime: Runtime.NODEJS_24_X,
          handler: 'index.handler',
          code,
        });
        return { a: { types: ['x'], compute: lambda({ function: own }) } };
      });
    expect(build).toThrow(/functionTimeout/);
  });
});
