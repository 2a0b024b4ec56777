import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { LeaseholdJobs } from './leasehold-jobs.ts';
import type { LeaseholdJobsProps } from './props/leasehold-jobs-props.ts';

/** Props of LeaseholdStack. */
export interface LeaseholdStackProps extends StackProps {
  /** The job system's props, or a function that creates them in the stack's scope. */
  readonly jobs: LeaseholdJobsProps | ((scope: Construct) => LeaseholdJobsProps);
}

/** A stack with one job system, whose outputs have short names such as `QueueUrl`. */
export class LeaseholdStack extends Stack {
  readonly jobs: LeaseholdJobs;

  constructor(scope: Construct, id: string, props: LeaseholdStackProps) {
    const { jobs, ...stackProps } = props;
    super(scope, id, { description: 'Leasehold: background jobs on leases', ...stackProps });
    this.jobs = new LeaseholdJobs(this, 'Jobs', typeof jobs === 'function' ? jobs(this) : jobs);
    for (const [name, output] of Object.entries(this.jobs.outputs)) output?.overrideLogicalId(name);
  }
}
