import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Match } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { jobsTableInput } from '../../lib/aws/dynamodb/create-jobs-table.ts';
import { LeaseholdJobs } from '../../lib/cdk/leasehold-jobs.ts';
import {
  newApp,
  projectRoot,
  resourceOf,
  type Synthesized,
  someJobs,
  synthesize,
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

  it('run on arm64 and Node 24 with a log group of their own, source maps, and no log lines of Lambda’s', () => {
    const functions = Object.values(standard.template.findResources('AWS::Lambda::Function'));
    for (const { Properties } of functions) {
      expect(Properties).toMatchObject({
        Architectures: ['arm64'],
        Runtime: 'nodejs24.x',
        LoggingConfig: { LogFormat: 'JSON', SystemLogLevel: 'WARN' },
        Environment: { Variables: { NODE_OPTIONS: '--enable-source-maps' } },
      });
      expect(Properties.LoggingConfig.LogGroup.Ref).toMatch(/Logs/);
      expect(Properties).not.toHaveProperty('TracingConfig');
    }
    synthesize({ tracing: true }).template.allResourcesProperties('AWS::Lambda::Function', {
      TracingConfig: { Mode: 'Active' },
    });
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
  });

  it('let the reaper wake itself without end, within the time that its message is hidden', () => {
    const { jobs } = standard;
    expect(resourceOf(standard, jobs.reaperFunction).Properties).toMatchObject({
      RecursiveLoop: 'Allow',
      Timeout: 60,
    });
    expect(resourceOf(standard, jobs.wakeQueue).Properties).toMatchObject({
      VisibilityTimeout: 60,
      MessageRetentionPeriod: 300,
    });
    expect(resourceOf(standard, jobs.wakeQueue).Properties).not.toHaveProperty('RedrivePolicy');
  });

  it('let Lambda poll the queues less often that are idle most of the time', () => {
    const { jobs } = standard;
    for (const source of [jobs.wakeSource, jobs.deadLetterSource]) {
      const { Properties } = resourceOf(standard, source);
      expect(Properties).toMatchObject({ BatchSize: 10 });
      expect(Properties).not.toHaveProperty('ScalingConfig');
      expect(Properties).not.toHaveProperty('MaximumBatchingWindowInSeconds');
    }
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
    const [schedule] = Object.values(standard.template.findResources('AWS::Scheduler::Schedule'));
    expect(schedule?.Properties).toMatchObject({
      ScheduleExpression: 'rate(1 minute)',
      FlexibleTimeWindow: { Mode: 'OFF' },
      Target: {
        Arn: { 'Fn::GetAtt': [expect.stringContaining('Reaper'), 'Arn'] },
        RetryPolicy: { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 },
      },
    });
    standard.template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
      MaximumEventAgeInSeconds: 60,
      MaximumRetryAttempts: 0,
    });
  });

  it('keep concurrency for the reaper where that is asked for, and enough of it', () => {
    const kept = synthesize({ reaperReservedConcurrency: 6 });
    expect(resourceOf(kept, kept.jobs.reaperFunction).Properties.ReservedConcurrentExecutions).toBe(6);
    expect(() => synthesize({ reaperReservedConcurrency: 5 })).toThrow(
      /'reaperReservedConcurrency' is 5; it must be a whole number of at least 6/,
    );
  });
});

describe('the service name', () => {
  it('is the stack’s name and the path in it, so that two deployments never share their metrics', () => {
    const app = newApp();
    const stack = new Stack(app, 'Shop', { stackName: 'shop-dev' });
    const names = ['Mail', 'Reports'].map(
      (id) => new LeaseholdJobs(stack, id, { jobs: someJobs }).serviceName,
    );
    expect(names).toEqual(['shop-dev-Mail', 'shop-dev-Reports']);
  });
});

describe('the stack', () => {
  it('says where to send jobs, where they are kept, where to look, and the worst case', () => {
    expect(standard.template.findOutputs('*')).toMatchObject({
      QueueUrl: { Value: { Ref: expect.stringContaining('Queue') } },
      TableName: { Value: { Ref: expect.stringContaining('Table') } },
      Recovery: { Value: '34 s' },
      WorstCaseRecovery: { Value: '152.5 s' },
    });
    expect(synthesize({ dashboard: true }).template.findOutputs('DashboardUrl')).toMatchObject({
      DashboardUrl: { Value: { 'Fn::Join': expect.anything() } },
    });
  });

  it('is plain ASCII, which CloudFormation shows as it is', () => {
    expect(JSON.stringify(standard.template.toJSON())).toMatch(/^[\x20-\x7e]*$/);
  });
});
