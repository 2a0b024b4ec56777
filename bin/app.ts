import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { LeaseholdStack } from '../lib/cdk/leasehold-stack.ts';

const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env;
const app = new App();
new LeaseholdStack(app, 'Leasehold', {
  env: { account, region },
  jobs: { jobs: join(import.meta.dirname, '..', 'examples', 'registry.ts') },
});
app.synth();
