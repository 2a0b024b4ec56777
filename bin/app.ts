import { App } from 'aws-cdk-lib';
import { createAppStack } from '../lib/cdk/app-stack.ts';

const app = new App();
createAppStack(app, process.env);
app.synth();
