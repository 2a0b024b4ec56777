import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import { type ILambdaDeploymentConfig, LambdaDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import { Alias, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { acknowledge } from './acknowledge.ts';

export const aliasOf = (worker: LambdaFunction): Alias =>
  new Alias(worker, 'Live', { aliasName: 'live', version: worker.currentVersion });

/** These notice a jobs module that cannot load, or handlers that kill their cells. @internal */
export const ROLLBACK_ALARMS: readonly string[] = ['WorkerErrors', 'MessagesReturned', 'Crashes'];

export function shiftSlowly(
  alias: Alias,
  deploymentConfig: ILambdaDeploymentConfig | undefined,
  alarms: Readonly<Record<string, Alarm>>,
): void {
  const group = new LambdaDeploymentGroup(alias, 'Deployment', {
    alias,
    deploymentConfig,
    alarms: ROLLBACK_ALARMS.flatMap((id) => alarms[id] ?? []),
  });
  if (group.role !== undefined)
    acknowledge(
      group.role,
      'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited]',
      "AWS's policy for CodeDeploy on Lambda: it may shift aliases and read alarms.",
    );
}
