import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Key } from 'aws-cdk-lib/aws-kms';
import { type CfnFunction, Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import type { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import { beforeAll, describe, expect, it } from 'vitest';
import { jobsTableInput } from '../../lib/dynamodb/create-jobs-table.ts';
import { LeaseholdJobs } from '../../lib/infra/leasehold-jobs.ts';
import type { LeaseholdJobsProps } from '../../lib/infra/leasehold-jobs-props.ts';
import { LeaseholdStack } from '../../lib/infra/leasehold-stack.ts';
import {
  newApp,
  projectRoot,
  resourceOf,
  type Synthesized,
  someEnv,
  synthesize,
  synthesizeIn,
  withoutValidation,
} from './support.ts';

withoutValidation();

let standard: Synthesized;
beforeAll(() => {
  standard = synthesize();
});

describe('the table', () => {
  it('has the keys, indexes and projections that the store was tested with', () => {
    const { TableName: _, ...contract } = jobsTableInput('any');
    const { Properties } = resourceOf(standard, standard.jobs.table);
    expect(Properties).toMatchObject({
      BillingMode: contract.BillingMode,
      KeySchema: contract.KeySchema,
      GlobalSecondaryIndexes: contract.GlobalSecondaryIndexes,
      TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
    });
    expect(Properties.AttributeDefinitions).toEqual(
      expect.arrayContaining(contract.AttributeDefinitions ?? []),
    );
    expect(Properties.AttributeDefinitions).toHaveLength(contract.AttributeDefinitions?.length ?? 0);
  });

  it('can be restored, cannot be deleted, and outlives the stack', () => {
    const table = resourceOf(standard, standard.jobs.table);
    expect(table).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
    expect(table.Properties.Replicas).toMatchObject([
      {
        DeletionProtectionEnabled: true,
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      },
    ]);
  });

  it('goes with the stack, unprotected, when told so', () => {
    const brief = synthesize({ removalPolicy: RemovalPolicy.DESTROY, pointInTimeRecovery: false });
    const table = resourceOf(brief, brief.jobs.table);
    expect(table.DeletionPolicy).toBe('Delete');
    expect(table.Properties.Replicas).toMatchObject([
      {
        DeletionProtectionEnabled: false,
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: false },
      },
    ]);
    for (const queue of [brief.jobs.queue, brief.jobs.deadLetterQueue])
      expect(resourceOf(brief, queue).DeletionPolicy).toBe('Delete');
    brief.template.allResources('AWS::Logs::LogGroup', { DeletionPolicy: 'Delete' });
  });

  it('keeps its protection when asked to, whatever the removal policy', () => {
    const kept = synthesize({ removalPolicy: RemovalPolicy.DESTROY, deletionProtection: true });
    expect(resourceOf(kept, kept.jobs.table).Properties.Replicas).toMatchObject([
      { DeletionProtectionEnabled: true },
    ]);
  });
});

describe('the queues', () => {
  it('refuse requests that are not encrypted in flight', () => {
    standard.template.resourceCountIs('AWS::SQS::Queue', 3);
    standard.template.resourcePropertiesCountIs(
      'AWS::SQS::QueuePolicy',
      {
        PolicyDocument: {
          Statement: Match.arrayWith([
            Match.objectLike({
              Effect: 'Deny',
              Action: 'sqs:*',
              Principal: { AWS: '*' },
              Condition: { Bool: { 'aws:SecureTransport': 'false' } },
            }),
          ]),
        },
      },
      3,
    );
  });

  it('keep messages 4 and 14 days, and take no more than a row can keep', () => {
    const { jobs } = standard;
    expect(resourceOf(standard, jobs.queue).Properties).toMatchObject({
      MessageRetentionPeriod: 4 * 86_400,
      MaximumMessageSize: 68 * 1024,
      VisibilityTimeout: 960,
      SqsManagedSseEnabled: true,
      RedrivePolicy: { maxReceiveCount: 10 },
    });
    expect(resourceOf(standard, jobs.queue).Properties).not.toHaveProperty('FifoQueue');
    expect(resourceOf(standard, jobs.deadLetterQueue).Properties).toMatchObject({
      MessageRetentionPeriod: 14 * 86_400,
    });
  });

  it('hide a message for as long as the function and its batch window may take, plus a minute', () => {
    const quick = synthesize({
      functionTimeout: Duration.minutes(2),
      batchWindow: Duration.seconds(20),
      batchSize: 10,
    });
    expect(resourceOf(quick, quick.jobs.queue).Properties.VisibilityTimeout).toBe(120 + 20 + 60);
  });

  it('follow the largest payload', () => {
    const large = synthesize({ maxPayloadBytes: 256 * 1024 });
    expect(resourceOf(large, large.jobs.queue).Properties.MaximumMessageSize).toBe(260 * 1024);
  });
});

describe('the functions', () => {
  it('are those of the folder functions, and no other', () => {
    const folders = readdirSync(join(projectRoot, 'functions')).sort();
    const functions = Object.keys(standard.template.findResources('AWS::Lambda::Function'))
      .map((id) => id.replace(/^Jobs(\w+)Function\w{8}$/, '$1'))
      .map((id) => id.replace(/(?<=[a-z])([A-Z])/g, '-$1').toLowerCase())
      .sort();
    expect(functions).toEqual(folders);
  });

  it('run on arm64 and Node 24 with active tracing, a log group of their own and source maps', () => {
    const functions = Object.values(standard.template.findResources('AWS::Lambda::Function'));
    for (const { Properties } of functions) {
      expect(Properties).toMatchObject({
        Architectures: ['arm64'],
        Runtime: 'nodejs24.x',
        TracingConfig: { Mode: 'Active' },
        Environment: { Variables: { NODE_OPTIONS: '--enable-source-maps' } },
      });
      expect(Properties.LoggingConfig.LogGroup.Ref).toMatch(/Logs/);
    }
    const groups = functions.map(({ Properties }) => Properties.LoggingConfig.LogGroup.Ref);
    expect(new Set(groups).size).toBe(3);
    standard.template.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 30 });
    standard.template.resourceCountIs('AWS::Logs::LogGroup', 3);
  });

  it('let the worker call itself through the queue without end: its own bound is maxReleases', () => {
    const { jobs } = standard;
    expect(resourceOf(standard, jobs.workerFunction).Properties).toMatchObject({
      RecursiveLoop: 'Allow',
      Timeout: 900,
    });
    expect(resourceOf(standard, jobs.reaperFunction).Properties).not.toHaveProperty('RecursiveLoop');
  });

  it('feed the worker in partial batches, with bounded concurrency', () => {
    const fed = synthesize({
      batchSize: 5,
      batchWindow: Duration.seconds(3),
      workerConcurrency: 7,
    });
    expect(resourceOf(fed, fed.jobs.workerSource).Properties).toMatchObject({
      BatchSize: 5,
      MaximumBatchingWindowInSeconds: 3,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      ScalingConfig: { MaximumConcurrency: 7 },
    });
    expect(resourceOf(fed, fed.jobs.deadLetterSource).Properties).toMatchObject({
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    });
  });

  it('take no concurrency from the rest of the account', () => {
    for (const { Properties } of Object.values(standard.template.findResources('AWS::Lambda::Function')))
      expect(Properties).not.toHaveProperty('ReservedConcurrentExecutions');
  });

  it('start the reaper every minute, without retries, and never for a tick older than a minute', () => {
    const { jobs } = standard;
    expect(resourceOf(standard, jobs.schedule).Properties).toMatchObject({
      ScheduleExpression: 'rate(1 minute)',
      Targets: [
        {
          RetryPolicy: { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 },
          DeadLetterConfig: { Arn: { 'Fn::GetAtt': [expect.stringContaining('MissedTicks'), 'Arn'] } },
        },
      ],
    });
    standard.template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
      MaximumEventAgeInSeconds: 60,
      MaximumRetryAttempts: 0,
    });
  });

  it('give the reaper the time that it watches and a last sweep', () => {
    const watching = synthesize({ watchDuration: Duration.minutes(5) });
    expect(resourceOf(watching, watching.jobs.reaperFunction).Properties.Timeout).toBe(330);
  });
});

describe('a worker of the user’s own', () => {
  const deadLetterEntry = join(projectRoot, 'functions', 'dead-letter', 'index.ts');
  const build = (timeout: Duration | undefined, props: LeaseholdJobsProps = {}) =>
    synthesizeIn((stack: Stack) => {
      const workerFunction = new LambdaFunction(stack, 'MyWorker', {
        runtime: Runtime.NODEJS_24_X,
        handler: 'index.handler',
        code: Code.fromInline('exports.handler = async () => ({ batchItemFailures: [] })'),
        ...(timeout && { timeout }),
      });
      return new LeaseholdJobs(stack, 'Jobs', { workerFunction, deadLetterEntry, ...props });
    });

  it('is given the environment, the queue and recursion', () => {
    const own = build(Duration.minutes(15));
    const { Properties } = resourceOf(own, own.jobs.workerFunction);
    const variables = (Properties.Environment as { Variables: Record<string, unknown> }).Variables;
    expect(variables).toMatchObject({ LEASEHOLD_LEASE_MS: '30000', LEASEHOLD_SERVICE_NAME: 'Shop-Jobs' });
    expect(Properties.RecursiveLoop).toBe('Allow');
    own.template.resourceCountIs('AWS::Lambda::Function', 3);
    own.template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      FunctionName: {
        Ref: own.stack.resolve((own.jobs.workerFunction.node.defaultChild as CfnFunction).logicalId),
      },
    });
  });

  it('is refused when its timeout is not the one that the deadlines are computed from', () => {
    expect(() => build(Duration.minutes(5))).toThrow(
      /the timeout of 'workerFunction' is 300000 ms, and 'functionTimeout' is 900000 ms/,
    );
    expect(() => build(undefined)).toThrow(/the timeout of 'workerFunction' is the default of 3000 ms/);
    expect(() => build(Duration.minutes(5), { functionTimeout: Duration.minutes(5) })).not.toThrow();
  });
});

describe('job types of the user’s own', () => {
  it('must be known to the dead-letter function too, which writes the first row of their jobs', () => {
    const workerEntry = join(projectRoot, 'functions', 'worker', 'index.ts');
    expect(() => synthesize({ workerEntry })).toThrow(/prop 'deadLetterEntry' is missing/);
    expect(() => synthesize({ workerEntry, deadLetterEntry: workerEntry })).not.toThrow();
  });
});

describe('a key of the user’s own', () => {
  const withKey = (stack: Stack) =>
    new LeaseholdJobs(stack, 'Jobs', { encryptionKey: new Key(stack, 'Key') });

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
          Statement: Match.arrayWith([Match.objectLike({ Action: ['kms:Decrypt', 'kms:GenerateDataKey'] })]),
        },
      },
      3,
    );
  });
});

describe('events', () => {
  it('go to a bus of the user’s own, and to no other', () => {
    const own = synthesizeIn(
      (stack) => new LeaseholdJobs(stack, 'Jobs', { eventBus: new EventBus(stack, 'Bus') }),
    );
    const statements = Object.values(own.template.findResources('AWS::IAM::Policy')).flatMap(
      ({ Properties }) => Properties.PolicyDocument.Statement,
    );
    const puts = statements.filter(({ Action }) => Action === 'events:PutEvents');
    expect(puts.length).toBeGreaterThan(0);
    for (const { Resource } of puts) expect(Resource['Fn::GetAtt'][0]).toMatch(/^Bus/);
  });

  it('need no permission when they are switched off', () => {
    const silent = synthesize({ eventsEnabled: false });
    expect(JSON.stringify(silent.template.toJSON())).not.toContain('events:PutEvents');
  });
});

describe('what cannot work', () => {
  it('is refused at synth: settings that contradict each other', () => {
    expect(() => synthesize({ lease: Duration.seconds(30), heartbeat: Duration.seconds(20) })).toThrow(
      /heartbeatMs \(20000\) must be at most a third of leaseMs \(30000\)/,
    );
    expect(() =>
      synthesize({ functionTimeout: Duration.minutes(15), visibilityTimeout: Duration.minutes(5) }),
    ).toThrow(/functionTimeoutMs \(900000\) plus batchWindowMs \(0\) must be at most visibilityTimeoutMs/);
  });

  it('is refused at synth: props that nobody knows, with the near one', () => {
    const misspelt = { leese: Duration.seconds(30) } as LeaseholdJobsProps;
    expect(() => synthesize(misspelt)).toThrow(/prop 'leese' is unknown.* 'lease'/);
    expect(() => synthesize({ timeScale: 10 } as LeaseholdJobsProps)).toThrow(/prop 'timeScale' is unknown/);
  });

  it('is refused at synth: replicas, by prop and by escape hatch', () => {
    expect(() => synthesize({ replicas: ['eu-west-2'] } as LeaseholdJobsProps)).toThrow(/last writer wins/);
    const stack = new LeaseholdStack(newApp(), 'Leasehold', {
      env: someEnv,
    });
    stack.jobs.table.addReplica({ region: 'eu-central-1' });
    expect(() => Template.fromStack(stack)).toThrow(/last writer wins/);
  });

  it('is refused at synth: FIFO queues, by prop and by escape hatch', () => {
    expect(() => synthesize({ fifo: true } as LeaseholdJobsProps)).toThrow(/no delay per message/);
    const stack = new LeaseholdStack(newApp(), 'Leasehold');
    (stack.jobs.queue.node.defaultChild as CfnQueue).fifoQueue = true;
    expect(() => Template.fromStack(stack)).toThrow(/no delay per message/);
  });
});

describe('the service name', () => {
  it('is the stack’s name and the path in it, so that two deployments never share their metrics', () => {
    const app = newApp();
    const stack = new Stack(app, 'Shop', { stackName: 'shop-dev' });
    const names = ['Mail', 'Reports'].map((id) => new LeaseholdJobs(stack, id).serviceName);
    expect(names).toEqual(['shop-dev-Mail', 'shop-dev-Reports']);
  });
});

describe('the stack', () => {
  it('says where to send jobs, where they are kept, where to look, and the worst case', () => {
    expect(standard.template.findOutputs('*')).toMatchObject({
      QueueUrl: { Value: { Ref: expect.stringContaining('Queue') } },
      TableName: { Value: { Ref: expect.stringContaining('Table') } },
      DashboardUrl: { Value: { 'Fn::Join': expect.anything() } },
      WorstCaseRecovery: { Value: '120.5 s' },
    });
    const always = synthesize({ watch: 'always' }).template.findOutputs('WorstCaseRecovery');
    expect(always.WorstCaseRecovery?.Value).toBe('43 s');
  });

  it('is plain ASCII, which CloudFormation shows as it is', () => {
    expect(JSON.stringify(standard.template.toJSON())).toMatch(/^[\x20-\x7e]*$/);
  });
});
