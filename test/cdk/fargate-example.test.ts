import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { RenderStack } from '../../examples/fargate/render-stack.ts';
import { permissionsOf } from './policies.ts';
import { featureFlags, withoutValidation } from './support.ts';

withoutValidation();

describe('workers in Fargate containers', () => {
  let template: Template;
  beforeAll(() => {
    const app = new App({ context: { ...featureFlags }, analyticsReporting: false });
    template = Template.fromStack(new RenderStack(app, 'Render'));
  });

  it('are the only workers: nothing feeds a function from the job queue', () => {
    const functions = Object.keys(template.findResources('AWS::Lambda::Function'));
    expect(functions.filter((id) => /Worker/.test(id))).toEqual([]);
    template.resourceCountIs('AWS::ECS::Service', 1);
  });

  it('may run jobs, and no more', () => {
    expect(permissionsOf(template, /^JobsPoolrenderTaskTaskRole/)).toEqual([
      'dynamodb:BatchGetItem on Table',
      'dynamodb:GetItem on Table',
      'dynamodb:PartiQLInsert on Table',
      'dynamodb:PartiQLUpdate on Table',
      'dynamodb:Query on Table/index/byWait',
      'dynamodb:UpdateItem on Table',
      'events:PutEvents on bus default',
      'sqs:ChangeMessageVisibility on PoolrenderQueue',
      'sqs:DeleteMessage on PoolrenderQueue',
      'sqs:ReceiveMessage on PoolrenderQueue',
      'sqs:SendMessage on PoolrenderQueue',
      'sqs:SendMessage on Queue',
    ]);
  });
});
