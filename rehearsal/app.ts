import { App } from 'aws-cdk-lib';
import { createStack } from './create-stack.ts';

const app = new App();
createStack(app);
app.synth();
