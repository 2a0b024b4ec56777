import { join } from 'node:path';
import { App, CfnOutput, Duration } from 'aws-cdk-lib';
import { SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2';
import { Cluster, ContainerImage } from 'aws-cdk-lib/aws-ecs';
import { LeaseholdStack } from '../../lib/cdk/leasehold-stack.ts';
import { fargate, lambda } from '../../lib/cdk/pools/compute.ts';
import { leaveOutScaling, nameTable, simplifyAlarms } from './emulator-quirks.ts';

const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env;
const app = new App();
const shards: unknown = app.node.tryGetContext('rehearsal:shards');
const lease: unknown = app.node.tryGetContext('rehearsal:lease');
const { jobs } = new LeaseholdStack(app, 'Leasehold', {
  env: { account, region },
  jobs: (scope) => ({
    jobs: join(import.meta.dirname, 'jobs.ts'),
    pools: {
      left: { types: ['left'], compute: lambda({ max: 2 }) },
      right: { types: ['right'], compute: lambda({ max: 2 }) },
      heavy: {
        types: ['heavy'],
        compute: fargate({
          image: ContainerImage.fromRegistry('public.ecr.aws/docker/library/node:24-slim'),
          // The cluster of the construct has capacity providers, which the emulator does not know.
          cluster: new Cluster(scope, 'Cluster', {
            vpc: new Vpc(scope, 'Vpc', {
              maxAzs: 2,
              natGateways: 0,
              subnetConfiguration: [{ name: 'Public', subnetType: SubnetType.PUBLIC }],
              restrictDefaultSecurityGroup: false,
            }),
          }),
          vpcSubnets: { subnetType: SubnetType.PUBLIC },
          assignPublicIp: true,
          max: 2,
        }),
      },
    },
    shards: shards === undefined ? undefined : Number(shards),
    lease: lease === undefined ? undefined : Duration.seconds(Number(lease)),
  }),
});
for (const [name, { queue }] of Object.entries(jobs.pools))
  new CfnOutput(jobs, `queue-${name}`, { value: queue.queueUrl }).overrideLogicalId(`${name}QueueUrl`);
simplifyAlarms(jobs);
leaveOutScaling(jobs);
nameTable(jobs.table.node.defaultChild);
app.synth();
