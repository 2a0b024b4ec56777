import { App } from 'aws-cdk-lib';
import { CfnAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { createAppStack } from '../../lib/cdk/app-stack.ts';

const app = new App();
const stack = createAppStack(app, process.env);
// The emulator knows no alarms on several metrics. What is linted, without an emulator, has them all.
if (process.env.AWS_ENDPOINT_URL !== undefined)
  for (const alarm of Object.values(stack.jobs.alarms)) {
    const resource = alarm.node.defaultChild;
    if (resource instanceof CfnAlarm && resource.metrics !== undefined)
      alarm.node.scope?.node.tryRemoveChild(alarm.node.id);
  }
app.synth();
