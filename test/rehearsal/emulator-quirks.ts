import { CfnAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { CfnGlobalTable } from 'aws-cdk-lib/aws-dynamodb';
import type { LeaseholdJobs } from '../../lib/cdk/leasehold-jobs.ts';

/** Whether the app is deployed to an emulator. What is linted, or goes to AWS, is left as it is. */
const isEmulated = process.env.AWS_ENDPOINT_URL !== undefined;

/** The emulator takes any change of a table without a name for a replacement. */
export function nameTable(table: unknown): void {
  if (isEmulated && table instanceof CfnGlobalTable) table.tableName = 'leasehold-rehearsal';
}

/** The emulator knows no alarms on several metrics; the dashboard refers to all alarms, so they watch one instead. */
export function simplifyAlarms(jobs: LeaseholdJobs): void {
  if (!isEmulated) return;
  for (const { node } of Object.values(jobs.alarms)) {
    const resource = node.defaultChild;
    if (!(resource instanceof CfnAlarm) || resource.metrics === undefined) continue;
    const one = { namespace: 'Leasehold', metricName: 'Unknown', statistic: 'Sum', period: 60 };
    Object.assign(resource, { metrics: undefined, ...one });
  }
}

/** The emulator has no Application Auto Scaling. */
export function leaveOutScaling(jobs: LeaseholdJobs): void {
  if (!isEmulated) return;
  for (const { service } of Object.values(jobs.pools))
    for (const id of ['Capacity', 'Resize', 'Empty', 'TasksWanted', 'Idle'])
      service?.node.scope?.node.tryRemoveChild(id);
}
