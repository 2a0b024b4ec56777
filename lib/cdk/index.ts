import '../node-version.ts';

export type { DoneListener } from './done-listeners.ts';
export type { LeaseholdGrants } from './leasehold-grants.ts';
export { LeaseholdJobs } from './leasehold-jobs.ts';
export { LeaseholdStack, type LeaseholdStackProps } from './leasehold-stack.ts';
export {
  type FargatePoolProps,
  fargate,
  type LambdaPoolProps,
  lambda,
  type PoolCompute,
  type PoolProps,
} from './pools/compute.ts';
export type { JobPool } from './pools/pools.ts';
export type {
  LeaseholdJobsProps,
  WorkerBundling,
  WorkerFunctionProps,
} from './props/leasehold-jobs-props.ts';
