import { App } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { createStack } from '../../rehearsal/create-stack.ts';
import { BATCHES } from './emulator.ts';
import { simplifyAlarms } from './emulator-quirks.ts';

/** The stack of the account rehearsal, as the emulator can take it. */
const app = new App();
const { jobs } = createStack(app);
simplifyAlarms(jobs);
const functions = [jobs.workerFunction, jobs.reaperFunction, jobs.deadLetterFunction];
for (const { workerFunction } of Object.values(jobs.pools))
  if (workerFunction !== undefined) functions.push(workerFunction);
for (const fn of functions)
  fn.addToRolePolicy(new PolicyStatement({ actions: [...BATCHES], resources: ['*'] }));
app.synth();
