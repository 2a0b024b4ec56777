import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Duration, RemovalPolicy, Size, Stack } from 'aws-cdk-lib';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { Architecture, LayerVersion, RecursiveLoop, Tracing } from 'aws-cdk-lib/aws-lambda';
import { describe, expect, it } from 'vitest';
import { LeaseholdJobs } from '../../lib/cdk/leasehold-jobs.ts';
import type { LeaseholdJobsProps } from '../../lib/cdk/props/leasehold-jobs-props.ts';
import {
  newApp,
  projectRoot,
  resourceOf,
  someJobs,
  synthesize,
  synthesizeIn,
  standard as usual,
  withoutValidation,
} from './support.ts';

withoutValidation();

const standard = usual();

describe('the table', () => {
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
});

describe('the queues', () => {
  it('hide a message for as long as the function and its batch window may take, plus a minute', () => {
    const quick = synthesize({
      functionTimeout: Duration.minutes(2),
      batchWindow: Duration.seconds(20),
      batchSize: 10,
    });
    expect(resourceOf(quick, quick.jobs.queue).Properties.VisibilityTimeout).toBe(120 + 20 + 60);
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

  it('log from the level of the setting up, which Lambda would otherwise override with INFO', () => {
    synthesize({ logLevel: 'WARN' }).template.allResourcesProperties('AWS::Lambda::Function', {
      LoggingConfig: { ApplicationLogLevel: 'WARN', SystemLogLevel: 'INFO' },
    });
  });

  it('keep the user’s options of Node, and none of the variables that are Leasehold’s own', () => {
    const own = synthesize({ workerFunctionProps: { environment: { NODE_OPTIONS: '--no-warnings' } } });
    expect(resourceOf(own, own.jobs.workerFunction).Properties).toMatchObject({
      Environment: { Variables: { NODE_OPTIONS: '--no-warnings --enable-source-maps' } },
    });
    const environment = { LEASEHOLD_LEASE_MS: '1' };
    expect(() => synthesize({ workerFunctionProps: { environment } })).toThrow(
      /'workerFunctionProps.environment' has LEASEHOLD_LEASE_MS; .* Set the prop of that name instead/,
    );
  });

  it('let the user shape the worker, and no other function', () => {
    const made = synthesizeIn((stack) => {
      const vpc = new Vpc(stack, 'Vpc');
      return new LeaseholdJobs(stack, 'Jobs', {
        jobs: someJobs,
        workerFunctionProps: {
          memorySize: 2048,
          timeout: Duration.minutes(5),
          architecture: Architecture.X86_64,
          ephemeralStorageSize: Size.gibibytes(2),
          layers: [
            LayerVersion.fromLayerVersionArn(
              stack,
              'Layer',
              'arn:aws:lambda:eu-west-1:123456789012:layer:a:1',
            ),
          ],
          tracing: Tracing.ACTIVE,
          vpc,
        },
      });
    });
    expect(made.jobs.settings.functionTimeoutMs).toBe(300_000);
    expect(resourceOf(made, made.jobs.queue).Properties.VisibilityTimeout).toBe(360);
    expect(resourceOf(made, made.jobs.workerFunction).Properties).toMatchObject({
      MemorySize: 2048,
      Timeout: 300,
      Architectures: ['x86_64'],
      EphemeralStorage: { Size: 2048 },
      Layers: ['arn:aws:lambda:eu-west-1:123456789012:layer:a:1'],
      TracingConfig: { Mode: 'Active' },
      VpcConfig: {},
    });
    const { VpcConfig, TracingConfig, Architectures } = resourceOf(made, made.jobs.reaperFunction).Properties;
    expect({ VpcConfig, TracingConfig, Architectures }).toEqual({ Architectures: ['arm64'] });
    expect(
      JSON.stringify(made.template.findResources('AWS::IAM::Policy')).match(/ec2:CreateNetworkInterface/g),
    ).toHaveLength(1);
  });

  it('refuse to be shaped twice, or where their promises rest on it', () => {
    const timeout = Duration.minutes(1);
    expect(() => synthesize({ functionTimeout: timeout, workerFunctionProps: { timeout } })).toThrow(
      /'functionTimeout' and 'workerFunctionProps.timeout' are both given.* Remove one/,
    );
    const own = { workerFunctionProps: { recursiveLoop: RecursiveLoop.TERMINATE } } as LeaseholdJobsProps;
    expect(() => synthesize(own)).toThrow(
      /'workerFunctionProps' has 'recursiveLoop', which Leasehold sets itself/,
    );
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
