import { Annotations, Stack, Token } from 'aws-cdk-lib';
import { CfnVPCEndpoint } from 'aws-cdk-lib/aws-ec2';
import { Grant, type IRole } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { Settings } from '../settings/settings.ts';
import type { ResourceProps } from './props/leasehold-jobs-props.ts';

/** Lambda uses the function's role: https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html */
export function allowNetworkInterfaces(role: IRole): void {
  Grant.addToPrincipal({
    grantee: role,
    actions: [
      'ec2:CreateNetworkInterface',
      'ec2:DescribeNetworkInterfaces',
      'ec2:DescribeSubnets',
      'ec2:DeleteNetworkInterface',
      'ec2:AssignPrivateIpAddresses',
      'ec2:UnassignPrivateIpAddresses',
    ],
    resourceArns: ['*'],
  });
}

/** Checks at synth, so that it sees endpoints added later in the app. */
export function warnOfMissingEndpoints(
  scope: Construct,
  { vpc, vpcSubnets }: Pick<ResourceProps, 'vpc' | 'vpcSubnets'>,
  { eventsEnabled, fips }: Pick<Settings, 'eventsEnabled'> & Pick<ResourceProps, 'fips'>,
): void {
  if (vpc === undefined) return;
  const isolated = new Set(vpc.isolatedSubnets.map(({ subnetId }) => subnetId));
  if (!vpc.selectSubnets(vpcSubnets).subnetIds.some((id) => isolated.has(id))) return;
  const suffix = fips === true && !GOV_REGION.test(Stack.of(scope).region) ? '-fips' : '';
  const needed = ['dynamodb', ...['sqs', ...(eventsEnabled ? ['events'] : [])].map((name) => name + suffix)];
  scope.node.addValidation({
    validate: () => {
      const made = scope.node.root.node
        .findAll()
        .filter((each): each is CfnVPCEndpoint => each instanceof CfnVPCEndpoint && each.vpcId === vpc.vpcId)
        .map((each) => JSON.stringify(Stack.of(each).resolve(each.serviceName)));
      const missing = needed.filter(
        (service) =>
          !made.some((name) => name.includes(`.${service}"`) || name.includes(`.${service}-fips"`)),
      );
      if (missing.length > 0)
        Annotations.of(scope).addWarningV2(
          'leasehold:endpoints',
          `the functions are in subnets without a way out, and this app makes no endpoint for ${missing.join(', ')} in their VPC: every request would time out. Add vpc.addGatewayEndpoint for dynamodb and vpc.addInterfaceEndpoint for the others, set eventsEnabled: false to do without events, or choose subnets with a NAT gateway; if the endpoints are made elsewhere, acknowledge this warning. See docs/operating/deploying.md`,
        );
      return [];
    },
  });
}

const GOV_REGION = /^us-gov-/;
/** Regions with FIPS endpoints for DynamoDB, SQS and EventBridge: https://aws.amazon.com/compliance/fips/ */
const FIPS_REGION = /^us-(gov-)?(east|west)-\d$/;

/** Elsewhere the SDK would call hosts that do not exist. */
export function warnOfMissingFips(scope: Construct, { fips }: Pick<ResourceProps, 'fips'>): void {
  const { region } = Stack.of(scope);
  if (fips !== true || Token.isUnresolved(region) || FIPS_REGION.test(region)) return;
  Annotations.of(scope).addWarningV2(
    'leasehold:fips',
    `prop 'fips' is true, and ${region} is not one of the regions where DynamoDB, SQS and EventBridge all have FIPS endpoints (us-east-*, us-west-*, us-gov-*): no function could reach them. Remove it, deploy to one of those, or acknowledge this warning if AWS has added them`,
  );
}
