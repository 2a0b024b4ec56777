/** The construct and the stack. */
export { LeaseholdJobs } from './leasehold-jobs.ts';
export type { LeaseholdJobsProps } from './leasehold-jobs-props.ts';
export { LeaseholdStack } from './leasehold-stack.ts';
