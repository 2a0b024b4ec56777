import { join } from 'node:path';
import { App, Duration } from 'aws-cdk-lib';
import { LeaseholdStack } from '../../lib/cdk/leasehold-stack.ts';
import { leaveOutUnknownAlarms, nameTable } from './emulator-quirks.ts';

const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env;
const app = new App();
const shards: unknown = app.node.tryGetContext('rehearsal:shards');
const lease: unknown = app.node.tryGetContext('rehearsal:lease');
const { jobs } = new LeaseholdStack(app, 'Leasehold', {
  env: { account, region },
  jobs: {
    jobs: join(import.meta.dirname, '..', '..', 'examples', 'registry.ts'),
    shards: shards === undefined ? undefined : Number(shards),
    lease: lease === undefined ? undefined : Duration.seconds(Number(lease)),
  },
});
leaveOutUnknownAlarms(jobs);
nameTable(jobs.table.node.defaultChild);
app.synth();
