import { App } from 'aws-cdk-lib';
import { RenderStack } from './render-stack.ts';

const app = new App();
new RenderStack(app, 'Render');
app.synth();
