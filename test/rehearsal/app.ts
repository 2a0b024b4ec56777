import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import { createAppStack } from '../../lib/cdk/app-stack.ts';
import { leaveOutUnknownAlarms, nameTable } from './emulator-quirks.ts';

const app = new App();
/** `-c rehearsal:version=0.1` deploys the stack as it was, under the same name. */
const isOld = app.node.tryGetContext('rehearsal:version') === '0.1';
if (isOld) {
  const templateFile = join(import.meta.dirname, '..', 'fixtures', 'stack-of-0.1.json');
  const old = new CfnInclude(new Stack(app, 'Leasehold'), 'Old', { templateFile });
  nameTable(old.getResource('JobsTable10C8EDF6'));
} else {
  const { jobs } = createAppStack(app, process.env);
  leaveOutUnknownAlarms(jobs);
  nameTable(jobs.table.node.defaultChild);
}
app.synth();
