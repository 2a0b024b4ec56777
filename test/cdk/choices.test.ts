import { join } from 'node:path';
import { Duration, type Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Key } from 'aws-cdk-lib/aws-kms';
import {
  type CfnFunction,
  Code,
  type FunctionProps,
  Function as LambdaFunction,
  Runtime,
  RuntimeFamily,
} from 'aws-cdk-lib/aws-lambda';
import type { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import { describe, expect, it } from 'vitest';
import { LeaseholdJobs } from '../../lib/cdk/leasehold-jobs.ts';
import { LeaseholdStack } from '../../lib/cdk/leasehold-stack.ts';
import type { LeaseholdJobsProps } from '../../lib/cdk/props/leasehold-jobs-props.ts';
import {
  newApp,
  projectRoot,
  resourceOf,
  someEnv,
  someJobs,
  synthesize,
  synthesizeIn,
  synthesizeJobs,
  withoutValidation,
} from './support.ts';

withoutValidation();

describe('a worker of the user’s own', () => {
  const build = (
    timeout: Duration | undefined,
    props: LeaseholdJobsProps = {},
    own: Partial<FunctionProps> = {},
  ) =>
    synthesizeIn((stack: Stack) => {
      const workerFunction = new LambdaFunction(stack, 'MyWorker', {
        runtime: Runtime.NODEJS_24_X,
        handler: 'index.handler',
        code: Code.fromInline('exports.handler = async () => ({ batchItemFailures: [] })'),
        timeout,
        ...own,
      });
      return new LeaseholdJobs(stack, 'Jobs', { workerFunction, ...props });
    });

  it('is given the environment, the queue and recursion', () => {
    const own = build(Duration.minutes(15));
    const { Properties } = resourceOf(own, own.jobs.workerFunction);
    const variables = (Properties.Environment as { Variables: Record<string, unknown> }).Variables;
    expect(variables).toMatchObject({ LEASEHOLD_LEASE_MS: '20000', LEASEHOLD_SERVICE_NAME: 'Shop-Jobs' });
    expect(Properties.RecursiveLoop).toBe('Allow');
    own.template.resourceCountIs('AWS::Lambda::Function', 3);
    own.template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      FunctionName: {
        Ref: own.stack.resolve((own.jobs.workerFunction.node.defaultChild as CfnFunction).logicalId),
      },
    });
  });

  it('is refused with a Node that Leasehold does not run on, and with props that would shape the other worker', () => {
    const minutes = Duration.minutes(15);
    const runtime = new Runtime('nodejs20.x', RuntimeFamily.NODEJS, { supportsInlineCode: true });
    expect(() => build(minutes, {}, { runtime })).toThrow(
      /runtime of 'workerFunction' is nodejs20.x; Leasehold needs Node 22 or newer/,
    );
    expect(() => build(minutes, { workerFunctionProps: { memorySize: 1024 } })).toThrow(
      /'workerFunctionProps' has no effect with a 'workerFunction'/,
    );
    expect(() => build(minutes, { jobs: someJobs })).toThrow(/'jobs' and 'workerFunction' are both given/);
  });

  it('is refused when its timeout is not the one that the deadlines are computed from', () => {
    expect(() => build(Duration.minutes(5))).toThrow(
      /the timeout of 'workerFunction' is 300000 ms, and 'functionTimeout' is 900000 ms/,
    );
    expect(() => build(undefined)).toThrow(/the timeout of 'workerFunction' is the default of 3000 ms/);
    expect(() => build(Duration.minutes(5), { functionTimeout: Duration.minutes(5) })).not.toThrow();
  });

  it('is refused with variables that Leasehold would overwrite', () => {
    const environment = { LEASEHOLD_LEASE_MS: '60000' };
    expect(() => build(Duration.minutes(15), {}, { environment })).toThrow(
      /'workerFunction' has the variable LEASEHOLD_LEASE_MS.* Set the prop of that name/,
    );
  });
});

describe('the jobs module', () => {
  it('must be named: nobody’s deployment runs our examples by mistake', () => {
    expect(() => synthesize({ jobs: undefined })).toThrow(
      /prop 'jobs' is missing: the file with export const registry/,
    );
  });

  it.each([
    ['is not there', 'nowhere.ts', /there is no file .*nowhere\.ts/],
    ['exports no registry', 'lib/this-package.ts', /it exports no registry/],
  ])('is refused at synth when it %s', (_what, jobs, problem) => {
    const bundled = { context: { 'aws:cdk:bundling-stacks': ['**'] } };
    expect(() => synthesize({ jobs: join(projectRoot, jobs) }, bundled)).toThrow(problem);
  });
});

describe('no worker function', () => {
  const containers = (props: LeaseholdJobsProps = {}) =>
    synthesizeIn((stack) => new LeaseholdJobs(stack, 'Jobs', { worker: 'none', ...props }));

  it('leaves out the function, what feeds it and the alarm on it, and keeps the reaper and its environment', () => {
    const made = containers();
    const functions = Object.keys(made.template.findResources('AWS::Lambda::Function'));
    expect(functions).toEqual([
      expect.stringMatching(/^JobsReaper/),
      expect.stringMatching(/^JobsDeadLetter/),
    ]);
    const sources = Object.keys(made.template.findResources('AWS::Lambda::EventSourceMapping'));
    expect(sources).toEqual([
      expect.stringMatching(/^JobsDeadLetterSource/),
      expect.stringMatching(/^JobsWakeSource/),
    ]);
    expect(made.jobs.alarms).not.toHaveProperty('WorkerErrors');
    expect(made.jobs.alarms).toHaveProperty('QueueStalled');
    expect(made.jobs.environment).toMatchObject({ LEASEHOLD_SERVICE_NAME: 'Shop-Jobs' });
  });

  it.each([
    ['jobs', { jobs: someJobs }],
    ['workerFunctionProps', { workerFunctionProps: { memorySize: 512 } }],
    ['workerPollers', { workerPollers: { minimumPollers: 2 } }],
    ['workerConcurrency', { workerConcurrency: 10 }],
  ])('refuses %s, which would have no effect', (name, props) => {
    expect(() => containers(props)).toThrow(`prop '${name}' has no effect with worker: 'none'`);
  });
});

describe('props that exclude each other', () => {
  it('are refused: pollers and a maximum of concurrency', () => {
    const props = { workerPollers: { minimumPollers: 2 }, workerConcurrency: 10 };
    expect(() => synthesize(props)).toThrow(/'workerPollers' and 'workerConcurrency' are both given/);
  });
});

describe('a key of the user’s own', () => {
  const withKey = (stack: Stack) =>
    new LeaseholdJobs(stack, 'Jobs', { jobs: someJobs, encryptionKey: new Key(stack, 'Key') });

  it('is refused where the region is not known, with the way out', () => {
    expect(() => synthesizeIn(withKey)).toThrow(/prop 'encryptionKey' needs a stack whose region is known/);
  });

  it('encrypts table and queues of messages, and is granted to those who need it', () => {
    const own = synthesizeIn(withKey, { env: someEnv });
    expect(resourceOf(own, own.jobs.table).Properties).toMatchObject({
      SSESpecification: { SSEEnabled: true, SSEType: 'KMS' },
    });
    for (const queue of [own.jobs.queue, own.jobs.deadLetterQueue])
      expect(resourceOf(own, queue).Properties).toHaveProperty('KmsMasterKeyId');
    own.template.resourcePropertiesCountIs(
      'AWS::IAM::Policy',
      {
        PolicyDocument: {
          Statement: Match.arrayWith([
            Match.objectLike({ Action: Match.arrayWith(['kms:Decrypt', 'kms:GenerateDataKey']) }),
          ]),
        },
      },
      3,
    );
  });
});

describe('events', () => {
  it('go to a bus of the user’s own, and to no other', () => {
    const own = synthesizeJobs((stack) => ({ eventBus: new EventBus(stack, 'Bus') }));
    const statements = Object.values(own.template.findResources('AWS::IAM::Policy')).flatMap(
      ({ Properties }) => Properties.PolicyDocument.Statement,
    );
    const puts = statements.filter(({ Action }) => Action === 'events:PutEvents');
    expect(puts.length).toBeGreaterThan(0);
    for (const { Resource } of puts) expect(Resource['Fn::GetAtt'][0]).toMatch(/^Bus/);
  });
});

describe('what cannot work', () => {
  it('is refused at synth: props that nobody knows, with the near one', () => {
    const misspelt = { leese: Duration.seconds(30) } as LeaseholdJobsProps;
    expect(() => synthesize(misspelt)).toThrow(/prop 'leese' is unknown.* 'lease'/);
  });

  it('is refused at synth: short times, which are for one machine', () => {
    const environment = { LEASEHOLD_ALLOW_SHORT_TIMES: 'true' };
    expect(() => synthesize({ workerFunctionProps: { environment } })).toThrow(
      /has LEASEHOLD_ALLOW_SHORT_TIMES.* remove it/,
    );
    expect(() => synthesize({ lease: Duration.seconds(1) })).toThrow(/setting 'leaseMs' is 1000; it must be/);
  });

  it('is refused at synth: variables of Leasehold that a function is given later', () => {
    const stack = new LeaseholdStack(newApp(), 'Leasehold', { jobs: { jobs: someJobs } });
    stack.jobs.workerFunction.addEnvironment('BUCKET', 'reports');
    stack.jobs.reaperFunction.addEnvironment('LEASEHOLD_SHARDS', '4');
    stack.jobs.reaperFunction.addEnvironment('LEASEHOLD_SHARD', '4');
    expect(() => Template.fromStack(stack)).toThrow(
      /LEASEHOLD_SHARDS of Leasehold\/Jobs\/Reaper\/Function.*\n.*LEASEHOLD_SHARD of/,
    );
  });

  it('is refused at synth: replicas, by prop and by escape hatch', () => {
    expect(() => synthesize({ replicas: ['eu-west-2'] } as LeaseholdJobsProps)).toThrow(/last writer wins/);
    const stack = new LeaseholdStack(newApp(), 'Leasehold', {
      env: someEnv,
      jobs: { jobs: someJobs },
    });
    stack.jobs.table.addReplica({ region: 'eu-central-1' });
    expect(() => Template.fromStack(stack)).toThrow(/last writer wins/);
  });

  it('is refused at synth: FIFO queues, by prop and by escape hatch', () => {
    expect(() => synthesize({ fifo: true } as LeaseholdJobsProps)).toThrow(/no delay per message/);
    const stack = new LeaseholdStack(newApp(), 'Leasehold', { jobs: { jobs: someJobs } });
    (stack.jobs.queue.node.defaultChild as CfnQueue).fifoQueue = true;
    expect(() => Template.fromStack(stack)).toThrow(/no delay per message/);
  });
});
