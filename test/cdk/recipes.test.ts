import { Duration, SecretValue, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Rule } from 'aws-cdk-lib/aws-events';
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { describe, expect, it } from 'vitest';
import { LeaseholdJobs } from '../../lib/cdk/leasehold-jobs.ts';
import { recipes, runRecipe } from '../support/recipes.ts';
import { newApp, someJobs, withoutValidation } from './support.ts';

withoutValidation();

describe('recipes for a stack', () => {
  it('are five', () => expect(recipes('stack').length).toBe(5));

  it.each(recipes('stack'))('line $line of the page makes a stack', async (recipe) => {
    const stack = new Stack(newApp(), 'Shop');
    const role = (id: string) =>
      new Role(stack, id, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    const asks = (name: string) => new RegExp(`\\b${name}\\b`).test(recipe.text);
    const surroundings = {
      ...{
        LeaseholdJobs,
        Duration,
        SecretValue,
        Rule,
        SnsTopic,
        support: role('Support'),
        orders: role('Orders'),
      },
      onCall: new Topic(stack, 'OnCall'),
      jobs: asks('new LeaseholdJobs') ? undefined : new LeaseholdJobs(stack, 'Given', { jobs: someJobs }),
    };
    await runRecipe(recipe, surroundings, stack);
    const template = Template.fromStack(stack);
    if (asks('schedules')) template.resourceCountIs('AWS::Scheduler::Schedule', 2);
    if (asks('onJobDone')) template.resourceCountIs('AWS::Events::ApiDestination', 1);
    if (asks('urgent')) template.resourceCountIs('AWS::DynamoDB::GlobalTable', 2);
    if (asks('maxPayloadBytes'))
      template.hasResourceProperties('AWS::Lambda::Function', {
        Environment: { Variables: { LEASEHOLD_MAX_PAYLOAD_BYTES: '1000000' } },
      });
  });
});
