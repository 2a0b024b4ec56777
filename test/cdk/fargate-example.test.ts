import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { RenderStack } from '../../examples/fargate/render-stack.ts';
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
});
