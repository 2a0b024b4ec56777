import { App } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { createStack } from '../../rehearsal/create-stack.ts';
import { BATCHES } from './emulator.ts';
import { leaveOutUnknownAlarms } from './emulator-quirks.ts';

/** The stack of the account rehearsal, as the emulator can take it. */
const app = new App();
const { jobs } = createStack(app);
leaveOutUnknownAlarms(jobs);
for (const fn of [jobs.workerFunction, jobs.reaperFunction, jobs.deadLetterFunction])
  fn.addToRolePolicy(new PolicyStatement({ actions: [...BATCHES], resources: ['*'] }));
app.synth();
