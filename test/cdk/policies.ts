import type { Template } from 'aws-cdk-lib/assertions';
import { flat, SOME_KEY } from './support.ts';

export interface AllowedActions {
  readonly actions: readonly string[];
  readonly resources: readonly string[];
}

const listed = (value: unknown): readonly string[] => (Array.isArray(value) ? value : [value]).map(String);

/** Every statement of the policies whose logical id matches. */
export function statementsOf(template: Template, policy = /./): readonly AllowedActions[] {
  const policies = Object.entries(template.findResources('AWS::IAM::Policy')).filter(([id]) =>
    policy.test(id),
  );
  return policies
    .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement)
    .map(({ Action, Resource }) => ({
      actions: listed(Action),
      resources: listed(flat(Resource)).map(short),
    }));
}

/** `action on resource`, for everything that these policies allow. */
export const permissionsOf = (template: Template, policy: RegExp): string[] =>
  statementsOf(template, policy)
    .flatMap(({ actions, resources }) =>
      actions.flatMap((action) => resources.map((resource) => `${action} on ${resource}`)),
    )
    .sort();

/** ARNs by the construct's own names for them: `Table/index/byLease`, `Queue`, `Key`, `bus default`. */
const short = (arn: string): string =>
  arn
    .replace(/<Jobs(\w+?)[0-9A-F]{8}\.Arn>/g, '$1')
    .replace(SOME_KEY, 'Key')
    .replace(/^arn:(?:aws|<AWS::Partition>):scheduler:.+:schedule\/.+\/\*$/, 'schedules')
    .replace(/^arn:(?:aws|<AWS::Partition>):events:.+:event-bus\//, 'bus ');
