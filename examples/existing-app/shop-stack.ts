import { join } from 'node:path';
import { Duration, Stack, type StackProps } from 'aws-cdk-lib';
import { Rule } from 'aws-cdk-lib/aws-events';
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets';
import { AccountRootPrincipal, Role } from 'aws-cdk-lib/aws-iam';
import { Architecture, Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { LeaseholdJobs } from 'leasehold/cdk';

const here = (file: string): string => join(import.meta.dirname, file);

/** A shop that had a function for orders and a topic for its people on call, and now sends invoices in the background. */
export class ShopStack extends Stack {
  readonly invoices: LeaseholdJobs;

  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
    const onCall = new Topic(this, 'OnCall', { enforceSSL: true });

    this.invoices = new LeaseholdJobs(this, 'Invoices', {
      jobs: here('registry.ts'),
      workerFunctionProps: { environment: { MAIL_URL: 'https://mail.example.com/send' } },
      functionTimeout: Duration.minutes(1),
      workerConcurrency: 10,
      alarmTopic: onCall,
    });

    const orders = new NodejsFunction(this, 'Orders', {
      entry: here('orders.ts'),
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      bundling: { format: OutputFormat.ESM, mainFields: ['module', 'main'] },
      environment: { LEASEHOLD_QUEUE_URL: this.invoices.queue.queueUrl },
    });
    this.invoices.grants.produce(orders);

    const support = new Role(this, 'Support', { assumedBy: new AccountRootPrincipal() });
    this.invoices.grants.operate(support);

    new Rule(this, 'InvoiceFailed', {
      eventPattern: {
        source: ['leasehold'],
        detailType: ['JobFailed'],
        detail: { service: [this.invoices.serviceName], type: ['send-invoice'] },
      },
      targets: [new SnsTopic(onCall)],
    });

    // The metrics are ordinary ones, for whatever the shop wants to be told of besides the built-in alarms.
    this.invoices
      .metric('JobsRetried', { period: Duration.minutes(15) })
      .createAlarm(this, 'MailIsFlaky', { threshold: 100, evaluationPeriods: 1 });
  }
}
