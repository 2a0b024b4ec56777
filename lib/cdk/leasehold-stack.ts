import { CfnOutput, Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { LeaseholdJobs } from './leasehold-jobs.ts';
import type { LeaseholdJobsProps } from './leasehold-jobs-props.ts';

export interface LeaseholdStackProps extends StackProps {
  /**
   * The job system's props, or a function that makes them in the stack's scope.
   */
  readonly jobs: LeaseholdJobsProps | ((scope: Construct) => LeaseholdJobsProps);
}

/** One job system in a stack of its own, with what its users need to know as outputs. */
export class LeaseholdStack extends Stack {
  readonly jobs: LeaseholdJobs;

  constructor(scope: Construct, id: string, props: LeaseholdStackProps) {
    const { jobs, ...stackProps } = props;
    super(scope, id, { description: 'Leasehold: background jobs on leases', ...stackProps });
    this.jobs = new LeaseholdJobs(this, 'Jobs', typeof jobs === 'function' ? jobs(this) : jobs);
    const { queue, table, dashboard, serviceName, recoveryBound } = this.jobs;
    this.#output('QueueUrl', 'Producers send jobs here with SendMessage.', queue.queueUrl);
    this.#output('TableName', 'The jobs table.', table.tableName);
    this.#output('ServiceName', 'The value of the metric dimension.', serviceName);
    if (dashboard !== undefined)
      this.#output(
        'DashboardUrl',
        'The CloudWatch dashboard.',
        `https://console.aws.amazon.com/cloudwatch/home?region=${this.region}#dashboards/dashboard/${dashboard.dashboardName}`,
      );
    this.#output(
      'Recovery',
      "The longest time from a worker's death to the reclaim of its job, by the settings.",
      `${recoveryBound.usualMs / 1000} s`,
    );
    this.#output(
      'WorstCaseRecovery',
      'The same where the reaper dies as well, or its wake is lost.',
      `${recoveryBound.worstMs / 1000} s`,
    );
  }

  #output(id: string, description: string, value: string): void {
    new CfnOutput(this, id, { description, value });
  }
}
