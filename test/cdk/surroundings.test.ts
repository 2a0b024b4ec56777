import type { Stack } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { LambdaDeploymentConfig } from 'aws-cdk-lib/aws-codedeploy';
import {
  GatewayVpcEndpointAwsService,
  InterfaceVpcEndpointAwsService,
  SecurityGroup,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2';
import { Key } from 'aws-cdk-lib/aws-kms';
import { describe, expect, it } from 'vitest';
import { LeaseholdJobs } from '../../lib/cdk/leasehold-jobs.ts';
import type { LeaseholdJobsProps } from '../../lib/cdk/props/leasehold-jobs-props.ts';
import { flat, someEnv, someJobs, synthesizeIn, withoutValidation } from './support.ts';

withoutValidation();

const build = (props: (stack: Stack) => LeaseholdJobsProps, region: string = someEnv.region) =>
  synthesizeIn((stack) => new LeaseholdJobs(stack, 'Jobs', { jobs: someJobs, ...props(stack) }), {
    env: { ...someEnv, region },
  });

const warningsOf = ({ stack }: { readonly stack: Stack }, about: string): number =>
  Annotations.fromStack(stack).findWarning('*', Match.stringLikeRegexp(about)).length;

const isolated = { subnetConfiguration: [{ name: 'Own', subnetType: SubnetType.PRIVATE_ISOLATED }] };

describe('a VPC', () => {
  it('has all functions in its subnets and security groups, and lets Lambda make their interfaces', () => {
    const made = build((stack) => {
      const vpc = new Vpc(stack, 'Vpc', isolated);
      vpc.addGatewayEndpoint('Table', { service: GatewayVpcEndpointAwsService.DYNAMODB });
      vpc.addInterfaceEndpoint('Queues', { service: InterfaceVpcEndpointAwsService.SQS });
      vpc.addInterfaceEndpoint('Events', { service: InterfaceVpcEndpointAwsService.EVENTBRIDGE });
      return {
        vpc,
        vpcSubnets: { subnetType: SubnetType.PRIVATE_ISOLATED },
        securityGroups: [new SecurityGroup(stack, 'Group', { vpc })],
      };
    });
    made.template.resourcePropertiesCountIs(
      'AWS::Lambda::Function',
      { VpcConfig: { SecurityGroupIds: [{ 'Fn::GetAtt': [Match.stringLikeRegexp('^Group'), 'GroupId'] }] } },
      3,
    );
    const policies = JSON.stringify(made.template.findResources('AWS::IAM::Policy'));
    expect(policies.match(/ec2:CreateNetworkInterface/g)).toHaveLength(3);
    expect(warningsOf(made, 'makes no endpoint')).toBe(0);
  });

  it('without a way to the services is warned of, with those that are missing', () => {
    const endpoints = (props: LeaseholdJobsProps) =>
      build((stack) => {
        const vpc = new Vpc(stack, 'Vpc', isolated);
        vpc.addGatewayEndpoint('Table', { service: GatewayVpcEndpointAwsService.DYNAMODB });
        return { vpc, vpcSubnets: { subnetType: SubnetType.PRIVATE_ISOLATED }, ...props };
      });
    expect(warningsOf(endpoints({}), 'no endpoint for sqs, events in their VPC')).toBe(1);
    expect(warningsOf(endpoints({ eventsEnabled: false }), 'no endpoint for sqs in their VPC')).toBe(1);
    const throughNat = build((stack) => ({ vpc: new Vpc(stack, 'Vpc') }));
    expect(warningsOf(throughNat, 'makes no endpoint')).toBe(0);
  });

  it('needs FIPS endpoints for FIPS hosts', () => {
    const missing = (services: readonly InterfaceVpcEndpointAwsService[]) =>
      build((stack) => {
        const vpc = new Vpc(stack, 'Vpc', isolated);
        vpc.addGatewayEndpoint('Table', { service: GatewayVpcEndpointAwsService.DYNAMODB });
        for (const service of services) vpc.addInterfaceEndpoint(service.shortName, { service });
        return { vpc, fips: true, eventsEnabled: false };
      }, 'us-east-1');
    expect(warningsOf(missing([InterfaceVpcEndpointAwsService.SQS]), 'no endpoint for sqs-fips in')).toBe(1);
    expect(warningsOf(missing([InterfaceVpcEndpointAwsService.SQS_FIPS]), 'makes no endpoint')).toBe(0);
  });
});

describe('FIPS endpoints', () => {
  it('are asked by all functions', () => {
    const made = build(() => ({ fips: true }), 'us-east-1');
    made.template.allResourcesProperties('AWS::Lambda::Function', {
      Environment: { Variables: { AWS_USE_FIPS_ENDPOINT: 'true' } },
    });
    expect(warningsOf(made, 'FIPS')).toBe(0);
  });
});

describe('FIPS endpoints and custom endpoints', () => {
  it('are refused together, because the SDK fails every request', () => {
    const environment = { AWS_ENDPOINT_URL_SQS: 'https://vpce-1.sqs.us-east-1.vpce.amazonaws.com' };
    expect(() => build(() => ({ fips: true, workerFunctionProps: { environment } }), 'us-east-1')).toThrow(
      /has AWS_ENDPOINT_URL_SQS.*'fips'.*Remove one/,
    );
  });
});

describe('keys', () => {
  it('encrypt the logs and the variables of all functions, which may decrypt them', () => {
    const made = build((stack) => ({
      logEncryptionKey: new Key(stack, 'LogKey'),
      environmentEncryptionKey: new Key(stack, 'VariableKey'),
    }));
    made.template.resourcePropertiesCountIs('AWS::Logs::LogGroup', { KmsKeyId: Match.anyValue() }, 3);
    made.template.resourcePropertiesCountIs('AWS::Lambda::Function', { KmsKeyArn: Match.anyValue() }, 3);
    const policies = JSON.stringify(made.template.findResources('AWS::IAM::Policy'));
    expect(policies.match(/kms:Decrypt/g)).toHaveLength(3);
    const keys = JSON.stringify(flat(made.template.findResources('AWS::KMS::Key')));
    expect(keys).toContain('"logs.eu-west-1.<AWS::URLSuffix>"');
    expect(keys).toContain(':logs:eu-west-1:123456789012:log-group:*');
  });
});

describe('the reaper', () => {
  it.each([64, 10_241, 512.5])('cannot have %d MB', (reaperMemorySize) => {
    expect(() => build(() => ({ reaperMemorySize }))).toThrow(
      /'reaperMemorySize' is [\d.]+; it must be a whole number from 128 to 10240/,
    );
  });

  it('that pollers could starve is warned of, with a fix that they allow', () => {
    const made = build(() => ({ workerPollers: { maximumPollers: 30 } }));
    expect(warningsOf(made, 'workers may take 300 of')).toBe(1);
    expect(warningsOf(made, 'else lower maximumPollers')).toBe(1);
  });

  it.each<[number, LeaseholdJobsProps]>([
    [1, {}],
    [0, { workerConcurrency: 4 }],
    [0, { reaperReservedConcurrency: 6 }],
    [0, { worker: 'none', jobs: undefined }],
  ])(
    'that workers could starve is warned of, until concurrency was thought of: %i with %j',
    (times, props) => {
      const made = build(() => props);
      expect(warningsOf(made, 'none is left for the reaper')).toBe(times);
    },
  );
});

describe('a deployment in steps', () => {
  it('feeds an alias, and rolls back when workers fail, crash or return messages', () => {
    const made = build(() => ({ workerDeployment: LambdaDeploymentConfig.CANARY_10PERCENT_10MINUTES }));
    const [group] = Object.values(made.template.findResources('AWS::CodeDeploy::DeploymentGroup'));
    expect(group?.Properties).toMatchObject({
      DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent10Minutes',
      AlarmConfiguration: { Enabled: true },
      AutoRollbackConfiguration: { Enabled: true },
    });
    expect(JSON.stringify(group?.Properties.AlarmConfiguration)).toMatch(
      /WorkerErrors.*MessagesReturned.*Crashes/,
    );
    const sources = JSON.stringify(made.template.findResources('AWS::Lambda::EventSourceMapping'));
    expect(sources).toMatch(/"FunctionName":\{[^}]*Live/);
  });

  it('is refused where every invocation runs the new code before an alarm can notice', () => {
    expect(() => build(() => ({ workerDeployment: LambdaDeploymentConfig.ALL_AT_ONCE }))).toThrow(
      /'workerDeployment' is CodeDeployDefault.LambdaAllAtOnce.*no alarm could roll it back.*CANARY_10PERCENT_10MINUTES/,
    );
  });
});
