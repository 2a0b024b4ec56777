import { join } from 'node:path';
import { type App, CfnOutput, Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Key } from 'aws-cdk-lib/aws-kms';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { addTable } from '../lib/cdk/jobs-table.ts';
import { LeaseholdStack } from '../lib/cdk/leasehold-stack.ts';
import { lambda } from '../lib/cdk/pools/compute.ts';
import { moduleExtension } from '../lib/this-package.ts';
import { POOL, STACK, WORKER_CONCURRENCY } from './plan.ts';

/** The default settings on a customer's key; everything is in the stack and deleted with it. */
export function createStack(app: App): LeaseholdStack {
  const given = (name: string) => String(app.node.getContext(`rehearsal:${name}`));
  const removalPolicy = RemovalPolicy.DESTROY;
  const stack = new LeaseholdStack(app, STACK, {
    // The CDK CLI refuses credentials of any other account.
    env: { account: given('account'), region: given('region') },
    jobs: (scope) => ({
      jobs: join(import.meta.dirname, `jobs${moduleExtension}`),
      encryptionKey: new Key(scope, 'Key', {
        removalPolicy,
        enableKeyRotation: true,
        pendingWindow: Duration.days(7),
      }),
      removalPolicy,
      pointInTimeRecovery: false,
      logRetention: RetentionDays.ONE_DAY,
      workerConcurrency: WORKER_CONCURRENCY,
      pools: { [POOL]: { types: ['where'], compute: lambda({ max: 2 }) } },
      functionTimeout: Duration.minutes(2),
    }),
  });
  // Only the worker process takes these jobs; hints of reclaimed ones go to the worker function.
  const processQueue = new Queue(stack, 'ProcessQueue', { removalPolicy, enforceSSL: true });
  const contract = addTable(new Construct(stack, 'Contract'), { removalPolicy, pointInTimeRecovery: false });
  const outputs = {
    ProcessQueueUrl: processQueue.queueUrl,
    ContractTableName: contract.tableName,
    WorkerSourceId: stack.jobs.workerSource.eventSourceMappingId,
    ReaperScheduleName: stack.jobs.schedule.ref,
  };
  for (const [name, value] of Object.entries(outputs)) new CfnOutput(stack, name, { value });
  return stack;
}
