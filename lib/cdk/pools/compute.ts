import type { Duration } from 'aws-cdk-lib';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { ContainerImage, ICluster, RuntimePlatform } from 'aws-cdk-lib/aws-ecs';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { WorkerFunctionProps } from '../props/leasehold-jobs-props.ts';

/** Some job types and the compute that runs them. */
export interface PoolProps {
  /** Each type is in one pool; those in none are the default worker's. */
  readonly types: readonly string[];
  /** @default - your own: `jobs.pools.<name>` has its `environment` and `grants.work` */
  readonly compute?: PoolCompute;
}

/** Made by `lambda()` or `fargate()`. */
export type PoolCompute = LambdaPool | FargatePool;

/** A worker function of a pool. Its timeout is `functionTimeout`, as for every worker function. */
export interface LambdaPoolProps {
  /** Invocations at the same time, from 2 to 1,000. @default - `workerConcurrency` */
  readonly max?: number;
  /** Replaces the function built from `jobs`. @default - built from `jobs` */
  readonly function?: LambdaFunction;
  /** @default - as the default worker's defaults */
  readonly functionProps?: Omit<WorkerFunctionProps, 'timeout'>;
}

/** Containers that run `leasehold work`, scaled by what waits and runs. */
export interface FargatePoolProps {
  /** Runs `leasehold work` as its process 1; `leasehold init --fargate` writes such a Dockerfile. */
  readonly image: ContainerImage;
  /** CPU units of a container; 1024 are one core. @default 1024 */
  readonly cpu?: number;
  /** Memory of a container in MiB. @default 2048 */
  readonly memory?: number;
  /** @default - Linux on x86-64 */
  readonly runtimePlatform?: RuntimePlatform;
  /** Most containers at once. */
  readonly max: number;
  /** Fewest containers. From 0, the first job waits 3 to 5 minutes for its container. @default 0 */
  readonly min?: number;
  /** Jobs that one container runs at the same time. @default - `processConcurrency` */
  readonly concurrency?: number;
  /** @default - a new cluster in `vpc` */
  readonly cluster?: ICluster;
  /** Required without a `cluster`. */
  readonly vpc?: IVpc;
  /** @default - the private subnets */
  readonly vpcSubnets?: SubnetSelection;
  /** @default - one that allows its requests */
  readonly securityGroups?: ISecurityGroup[];
  /** A public IP, for public subnets without a NAT gateway. @default false */
  readonly assignPublicIp?: boolean;
  /** Spot capacity: `true` keeps the first container on demand, `'only'` none. @default false */
  readonly spot?: boolean | 'only';
  /** How long a stopping container lets its jobs finish before it releases them. @default Duration.seconds(80) */
  readonly shutdownGrace?: Duration;
  /**
   * How long a busy container may be protected from being scaled in, in minutes. Protection also holds up deployments.
   * @default 0
   */
  readonly protectMinutes?: number;
  /** Variables of the container besides Leasehold's. @default - none */
  readonly environment?: Readonly<Record<string, string>>;
}

interface LambdaPool {
  readonly kind: 'lambda';
  readonly props: LambdaPoolProps;
}

interface FargatePool {
  readonly kind: 'fargate';
  readonly props: FargatePoolProps;
}

/** A worker function for the types of a pool. */
export const lambda = (props: LambdaPoolProps = {}): PoolCompute => ({ kind: 'lambda', props });

/** Fargate containers for the types of a pool. */
export const fargate = (props: FargatePoolProps): PoolCompute => ({ kind: 'fargate', props });
