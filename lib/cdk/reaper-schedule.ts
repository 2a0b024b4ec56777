import { Duration, Stack } from 'aws-cdk-lib';
import { Grant, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { CfnSchedule } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import type { Settings } from '../settings/settings.ts';
import { TICK_AGE } from './functions.ts';

/** Uses the L1 resource, because CDK's target would let the schedule invoke every version and alias. */
export function scheduleReaper(
  scope: Construct,
  {
    reaperFunction,
    serviceName,
    settings,
  }: {
    readonly reaperFunction: LambdaFunction;
    readonly serviceName: string;
    readonly settings: Settings;
  },
): CfnSchedule {
  const home = new Construct(scope, 'Schedule');
  const role = new Role(home, 'Role', {
    assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } },
    }),
  });
  const grant = Grant.addToPrincipal({
    grantee: role,
    actions: ['lambda:InvokeFunction'],
    resourceArns: [reaperFunction.functionArn],
  });
  const minutes = Duration.millis(settings.reaperIntervalMs).toMinutes();
  const schedule = new CfnSchedule(home, 'Schedule', {
    description: `Starts the reaper of ${serviceName}`,
    scheduleExpression: `rate(${minutes} minute${minutes === 1 ? '' : 's'})`,
    flexibleTimeWindow: { mode: 'OFF' },
    target: {
      arn: reaperFunction.functionArn,
      roleArn: role.roleArn,
      retryPolicy: { maximumEventAgeInSeconds: TICK_AGE.toSeconds(), maximumRetryAttempts: 0 },
    },
  });
  grant.applyBefore(schedule);
  return schedule;
}
