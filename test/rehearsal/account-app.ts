import { join } from 'node:path';
import { App, Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Billing } from 'aws-cdk-lib/aws-dynamodb';
import { Key } from 'aws-cdk-lib/aws-kms';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { LeaseholdStack } from '../../lib/cdk/leasehold-stack.ts';
import { leaveOutUnknownAlarms, nameTable } from './emulator-quirks.ts';

/** The stack of a rehearsal in a real account: small leases, a key of its own, and nothing that is left behind. */
const app = new App();
const account = String(app.node.getContext('rehearsal:account'));
const region = String(app.node.getContext('rehearsal:region'));
const maxWriteRequestUnits: unknown = app.node.tryGetContext('rehearsal:maxWriteUnits');

const stack = new LeaseholdStack(app, 'LeaseholdRehearsal', {
  // The CLI refuses credentials of any other account.
  env: { account, region },
  jobs: (scope) => ({
    jobs: join(import.meta.dirname, 'account-jobs.ts'),
    encryptionKey: new Key(scope, 'Key', {
      enableKeyRotation: true,
      removalPolicy: RemovalPolicy.DESTROY,
      pendingWindow: Duration.days(7),
    }),
    removalPolicy: RemovalPolicy.DESTROY,
    logRetention: RetentionDays.ONE_DAY,
    lease: Duration.seconds(10),
    maxRunning: 40,
    workerConcurrency: 20,
    workerFunctionProps: { memorySize: 512 },
    functionTimeout: Duration.minutes(2),
    billing: Billing.onDemand(
      maxWriteRequestUnits === undefined ? {} : { maxWriteRequestUnits: Number(maxWriteRequestUnits) },
    ),
  }),
});
for (const child of stack.node.findAll())
  if (child instanceof LogGroup) child.applyRemovalPolicy(RemovalPolicy.DESTROY);
leaveOutUnknownAlarms(stack.jobs);
nameTable(stack.jobs.table.node.defaultChild);
app.synth();
