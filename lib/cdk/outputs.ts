import { CfnMapping, CfnOutput, Stack } from 'aws-cdk-lib';
import type { Dashboard } from 'aws-cdk-lib/aws-cloudwatch';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { RecoveryBound } from '../settings/recovery-bound.ts';

/** The stack's outputs for users of the system. */
export interface Outputs {
  readonly QueueUrl: CfnOutput;
  readonly TableName: CfnOutput;
  readonly ServiceName: CfnOutput;
  readonly Recovery: CfnOutput;
  readonly WorstCaseRecovery: CfnOutput;
  readonly DashboardUrl?: CfnOutput;
}

interface Told extends Construct {
  readonly queue: IQueue;
  readonly table: { readonly tableName: string };
  readonly dashboard: Dashboard | undefined;
  readonly serviceName: string;
  readonly recoveryBound: RecoveryBound;
}

export function createOutputs(jobs: Told): Outputs {
  const { queue, table, dashboard, serviceName, recoveryBound } = jobs;
  const stack = Stack.of(jobs);
  const home = new Construct(jobs, 'Outputs');
  const place = jobs.node.scopes.slice(stack.node.scopes.length).map(({ node }) => node.id);
  const prefix = place.join('').replaceAll(/[^A-Za-z0-9]/g, '');
  const output = (name: keyof Outputs, description: string, value: string) => {
    const made = new CfnOutput(home, name, { description, value });
    made.overrideLogicalId(`${prefix}${name}`);
    return made;
  };
  const recovery = "The longest time from a worker's death to the reclaim of its job, by the settings.";
  const worst = 'The same where the reaper dies as well, or its wake is lost.';
  return {
    QueueUrl: output('QueueUrl', 'Producers send jobs here with SendMessage.', queue.queueUrl),
    TableName: output('TableName', 'The jobs table.', table.tableName),
    ServiceName: output('ServiceName', 'The value of the metric dimension.', serviceName),
    Recovery: output('Recovery', recovery, `${recoveryBound.usualMs / 1000} s`),
    WorstCaseRecovery: output('WorstCaseRecovery', worst, `${recoveryBound.worstMs / 1000} s`),
    DashboardUrl: dashboard && output('DashboardUrl', 'The CloudWatch dashboard.', urlOf(dashboard)),
  };
}

const CONSOLES = {
  aws: 'console.aws.amazon.com',
  'aws-cn': 'console.amazonaws.cn',
  'aws-us-gov': 'console.amazonaws-us-gov.com',
  'aws-eusc': 'console.amazonaws-eusc.eu',
  'aws-iso': 'console.c2shome.ic.gov',
  'aws-iso-b': 'console.sc2shome.sgov.gov',
  'aws-iso-e': 'console.csphome.adc-e.uk',
  'aws-iso-f': 'console.csphome.hci.ic.gov',
};

function urlOf(dashboard: Dashboard): string {
  const { partition, region } = Stack.of(dashboard);
  const mapping = Object.fromEntries(Object.entries(CONSOLES).map(([name, host]) => [name, { host }]));
  const consoles = new CfnMapping(dashboard, 'Consoles', { mapping, lazy: true });
  return `https://${consoles.findInMap(partition, 'host')}/cloudwatch/home?region=${region}#dashboards/dashboard/${dashboard.dashboardName}`;
}
