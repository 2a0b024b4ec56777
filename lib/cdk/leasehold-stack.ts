import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { LeaseholdJobs } from './leasehold-jobs.ts';
import type { LeaseholdJobsProps } from './props/leasehold-jobs-props.ts';

/** Props of LeaseholdStack: those of any stack, and the job system’s. */
export interface LeaseholdStackProps extends StackProps {
  /**
   * The job system's props, or a function that makes them in the stack's scope.
   */
  readonly jobs: LeaseholdJobsProps | ((scope: Construct) => LeaseholdJobsProps);
}

/** One job system in a stack of its own, whose outputs have the short names: `QueueUrl`. */
export class LeaseholdStack extends Stack {
  readonly jobs: LeaseholdJobs;

  constructor(scope: Construct, id: string, props: LeaseholdStackProps) {
    const { jobs, ...stackProps } = props;
    super(scope, id, { description: 'Leasehold: background jobs on leases', ...stackProps });
    this.jobs = new LeaseholdJobs(this, 'Jobs', typeof jobs === 'function' ? jobs(this) : jobs);
    for (const [name, output] of Object.entries(this.jobs.outputs)) output?.overrideLogicalId(name);
  }
}
