import { Stack, type StackProps } from 'aws-cdk-lib';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { ContainerImage } from 'aws-cdk-lib/aws-ecs';
import type { Construct } from 'constructs';
import { fargate, LeaseholdJobs } from 'leasehold/cdk';

/** Renders videos in Fargate containers, as many as there is work for. */
export class RenderStack extends Stack {
  readonly jobs: LeaseholdJobs;

  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
    // The folder with the Dockerfile, package.json and jobs.ts.
    const image = ContainerImage.fromAsset(import.meta.dirname);
    const vpc = new Vpc(this, 'Vpc', { maxAzs: 2, natGateways: 1 });
    this.jobs = new LeaseholdJobs(this, 'Jobs', {
      // No type runs on Lambda here; with a jobs module, a worker function runs all other types.
      worker: 'none',
      pools: {
        render: { types: ['render'], compute: fargate({ image, vpc, cpu: 1024, memory: 2048, max: 20 }) },
      },
    });
  }
}
