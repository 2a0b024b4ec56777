import { Duration, Stack, type StackProps } from 'aws-cdk-lib';
import { AdjustmentType } from 'aws-cdk-lib/aws-applicationautoscaling';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import {
  Cluster,
  ContainerImage,
  FargateService,
  FargateTaskDefinition,
  LogDrivers,
} from 'aws-cdk-lib/aws-ecs';
import type { Construct } from 'constructs';
import { LeaseholdJobs } from 'leasehold/cdk';

/** Jobs that run in Fargate containers. Table, queues, reaper and alarms are as everywhere; there is no worker function. */
export class RenderStack extends Stack {
  readonly jobs: LeaseholdJobs;

  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
    this.jobs = new LeaseholdJobs(this, 'Jobs', { worker: 'none' });

    const task = new FargateTaskDefinition(this, 'Task', { cpu: 1024, memoryLimitMiB: 2048 });
    task.addContainer('Worker', {
      // The folder with the Dockerfile, package.json and jobs.ts.
      image: ContainerImage.fromAsset(import.meta.dirname),
      environment: { ...this.jobs.environment },
      // The time to hand running jobs over after SIGTERM.
      stopTimeout: Duration.minutes(2),
      healthCheck: {
        command: [
          'CMD-SHELL',
          `node -e "fetch('http://localhost:8080').then((r) => process.exit(r.ok ? 0 : 1))"`,
        ],
        startPeriod: Duration.seconds(30),
      },
      logging: LogDrivers.awsLogs({ streamPrefix: 'worker' }),
    });
    this.jobs.grants.work(task.taskRole);

    const cluster = new Cluster(this, 'Cluster', { vpc: new Vpc(this, 'Vpc', { maxAzs: 2 }) });
    const service = new FargateService(this, 'Service', { cluster, taskDefinition: task, desiredCount: 1 });

    // One container for each hundred jobs that wait, and at least one.
    service.autoScaleTaskCount({ minCapacity: 1, maxCapacity: 10 }).scaleOnMetric('Backlog', {
      metric: this.jobs.queue.metricApproximateNumberOfMessagesVisible({ period: Duration.minutes(1) }),
      adjustmentType: AdjustmentType.EXACT_CAPACITY,
      scalingSteps: [
        { upper: 100, change: 1 },
        { lower: 100, upper: 500, change: 5 },
        { lower: 500, change: 10 },
      ],
    });
  }
}
