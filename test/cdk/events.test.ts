import { Match } from 'aws-cdk-lib/assertions';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { describe, expect, it } from 'vitest';
import type { LeaseholdJobs } from '../../lib/cdk/leasehold-jobs.ts';
import type { LeaseholdJobsProps } from '../../lib/cdk/props/leasehold-jobs-props.ts';
import { SettingsError } from '../../lib/settings/settings-error.ts';
import { resourceOf, synthesizeJobs, withoutValidation } from './support.ts';

withoutValidation();

const build = (listen: (jobs: LeaseholdJobs, target: SqsQueue) => void, props: LeaseholdJobsProps = {}) =>
  synthesizeJobs(
    () => props,
    (jobs, stack) => listen(jobs, new SqsQueue(new Queue(stack, 'Ends'))),
  );

const variablesOf = (built: ReturnType<typeof build>, function_: 'workerFunction' | 'reaperFunction') =>
  (resourceOf(built, built.jobs[function_]).Properties.Environment as { Variables: Record<string, unknown> })
    .Variables;

describe('onJobDone', () => {
  it('makes a rule for the jobs of a type and switches their events on, in every worker', () => {
    const built = build(
      (jobs, target) => {
        jobs.onJobDone({ type: 'invoice' }, target);
        jobs.onJobDone({ type: 'invoice' }, target);
        jobs.onJobDone({ type: 'mail' }, target);
      },
      { doneEvents: 'report' },
    );
    built.template.resourceCountIs('AWS::Events::Rule', 3);
    built.template.hasResourceProperties('AWS::Events::Rule', {
      EventBusName: 'default',
      EventPattern: {
        source: ['leasehold'],
        'detail-type': ['JobDone'],
        detail: { service: ['Shop-Jobs'], type: ['mail'] },
      },
      Targets: [Match.objectLike({ Arn: Match.anyValue() })],
    });
    expect(variablesOf(built, 'workerFunction').LEASEHOLD_DONE_EVENTS).toBe('report,invoice,mail');
    expect(built.stack.resolve(built.jobs.environment.LEASEHOLD_DONE_EVENTS)).toBe('report,invoice,mail');
  });

  it('leaves no rule and no event where nobody listens', () => {
    const built = build(() => {});
    built.template.resourceCountIs('AWS::Events::Rule', 0);
    expect(variablesOf(built, 'workerFunction')).toMatchObject({
      LEASEHOLD_DONE_EVENTS: '',
      LEASEHOLD_STARTED_EVENTS: '',
    });
    const all = build((jobs, target) => jobs.onJobDone({ type: 'a' }, target), { doneEvents: '*' });
    expect(variablesOf(all, 'workerFunction').LEASEHOLD_DONE_EVENTS).toBe('*');
  });

  it('refuses a type that cannot be, and events that are switched off', () => {
    expect(() => build((jobs, target) => jobs.onJobDone({ type: 'an invoice' }, target))).toThrow(
      /given to 'onJobDone' is 'an invoice'; it must be 1 to 100 characters .* onJobDone\(\{ type: 'invoice' \}/,
    );
    expect(() =>
      build((jobs, target) => jobs.onJobDone({ type: 'invoice' }, target), { eventsEnabled: false }),
    ).toThrow(SettingsError);
    expect(() => build(() => {}, { doneEvents: 'a, b' })).toThrow(
      /setting 'doneEvents' is 'a, b'; it must be types separated by commas/,
    );
  });
});
