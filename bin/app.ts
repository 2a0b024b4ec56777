import { App } from 'aws-cdk-lib';
import { jobsProps, readAppChoices } from '../lib/infra/app-props.ts';
import { LeaseholdStack } from '../lib/infra/leasehold-stack.ts';
import { rememberShards } from '../lib/infra/shard-memory.ts';

const app = new App();
const choices = readAppChoices(app, process.env);
const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env;

const stack = new LeaseholdStack(app, choices.choices.stackName ?? 'Leasehold', {
  // Without credentials the template is made for any account.
  ...(account && region && { env: { account, region } }),
  jobs: (scope) => jobsProps(scope, choices),
});
app.synth();
rememberShards([stack.jobs]);
