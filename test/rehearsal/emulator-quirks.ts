import { CfnAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { CfnGlobalTable } from 'aws-cdk-lib/aws-dynamodb';
import type { LeaseholdJobs } from '../../lib/cdk/leasehold-jobs.ts';

/** Whether the app is deployed to an emulator. What is linted, or goes to AWS, is left as it is. */
const isEmulated = process.env.AWS_ENDPOINT_URL !== undefined;

/** The emulator takes any change of a table without a name for a replacement. */
export function nameTable(table: unknown): void {
  if (isEmulated && table instanceof CfnGlobalTable) table.tableName = 'leasehold-rehearsal';
}

/** The emulator knows no alarms on several metrics. */
export function leaveOutUnknownAlarms(jobs: LeaseholdJobs): void {
  if (!isEmulated) return;
  for (const alarm of Object.values(jobs.alarms)) {
    const resource = alarm.node.defaultChild;
    if (resource instanceof CfnAlarm && resource.metrics !== undefined)
      alarm.node.scope?.node.tryRemoveChild(alarm.node.id);
  }
}
