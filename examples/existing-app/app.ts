import { App } from 'aws-cdk-lib';
import { ShopStack } from './shop-stack.ts';

const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env;

const app = new App();
new ShopStack(app, 'Shop', { env: { account, region } });
app.synth();
