import { Template } from 'aws-cdk-lib/assertions';
import { expect, it } from 'vitest';
import { RenderStack } from '../../examples/fargate/render-stack.ts';
import { newApp, withoutValidation } from './support.ts';

withoutValidation();

it('containers of the example are its only workers: nothing feeds a function from the job queue', () => {
  const template = Template.fromStack(new RenderStack(newApp(), 'Render'));
  const functions = Object.keys(template.findResources('AWS::Lambda::Function'));
  expect(functions.filter((id) => /Worker/.test(id))).toEqual([]);
  template.resourceCountIs('AWS::ECS::Service', 1);
});
