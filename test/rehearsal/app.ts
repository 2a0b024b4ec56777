import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { CfnAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { CfnGlobalTable } from 'aws-cdk-lib/aws-dynamodb';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import { createAppStack } from '../../lib/cdk/app-stack.ts';
import type { LeaseholdJobs } from '../../lib/cdk/leasehold-jobs.ts';

const app = new App();
/** `-c rehearsal:version=0.1` deploys the stack as it was, under the same name. */
const isOld = app.node.tryGetContext('rehearsal:version') === '0.1';
if (isOld) {
  const templateFile = join(import.meta.dirname, '..', 'fixtures', 'stack-of-0.1.json');
  const old = new CfnInclude(new Stack(app, 'Leasehold'), 'Old', { templateFile });
  nameTable(old.getResource('JobsTable10C8EDF6'));
} else {
  const { jobs } = createAppStack(app, process.env);
  if (process.env.AWS_ENDPOINT_URL !== undefined) leaveOutUnknownAlarms(jobs);
  nameTable(jobs.table.node.defaultChild);
}
app.synth();

/** The emulator takes any change of a table without a name for a replacement, which it is not. test/cdk/upgrade.test.ts has none. */
function nameTable(table: unknown): void {
  if (process.env.AWS_ENDPOINT_URL !== undefined && table instanceof CfnGlobalTable)
    table.tableName = 'leasehold-rehearsal';
}

/** The emulator knows no alarms on several metrics. What is linted, without an emulator, has them all. */
function leaveOutUnknownAlarms(jobs: LeaseholdJobs): void {
  for (const alarm of Object.values(jobs.alarms)) {
    const resource = alarm.node.defaultChild;
    if (resource instanceof CfnAlarm && resource.metrics !== undefined)
      alarm.node.scope?.node.tryRemoveChild(alarm.node.id);
  }
}
