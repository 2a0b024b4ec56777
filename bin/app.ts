import { App } from 'aws-cdk-lib';
import { createAppStack } from '../lib/cdk/app-stack.ts';
import { rememberShards } from '../lib/cdk/shard-memory.ts';

const app = new App();
const stack = createAppStack(app, process.env);
app.synth();
rememberShards([stack.jobs]);
