import { Stack } from 'aws-cdk-lib';
import { CfnGlobalTable } from 'aws-cdk-lib/aws-dynamodb';
import { CfnFunction, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import { VARIABLE_PREFIX } from '../wire/environment.ts';
import type { LeaseholdJobs } from './leasehold-jobs.ts';
import { refusals } from './props/check-props.ts';

type Changeable = Pick<LeaseholdJobs, 'table' | 'queue' | 'deadLetterQueue' | 'environment'>;

export function refusedChanges(
  { table, queue, deadLetterQueue, environment }: Changeable,
  functions: Readonly<Record<string, LambdaFunction | undefined>>,
): string[] {
  const problems: string[] = [];
  const resource = table.node.defaultChild;
  if (resource instanceof CfnGlobalTable) {
    const replicas: unknown = Stack.of(table).resolve(resource.replicas);
    if (Array.isArray(replicas) && replicas.length > 1) problems.push(refusals.replicas);
  }
  for (const fn of Object.values(functions))
    if (fn !== undefined) problems.push(...changesOf(fn, Stack.of(table).resolve(environment)));
  for (const { node } of [queue, deadLetterQueue])
    if (node.defaultChild instanceof CfnQueue && node.defaultChild.fifoQueue === true)
      problems.push(refusals.fifo);
  return problems;
}

function changesOf(fn: LambdaFunction, ours: Readonly<Record<string, unknown>>): string[] {
  const { defaultChild } = fn.node;
  const isManaged = defaultChild instanceof CfnFunction && defaultChild.capacityProviderConfig !== undefined;
  const changed = Object.entries(variablesOf(fn)).filter(
    ([name, value]) =>
      name.startsWith(VARIABLE_PREFIX) && JSON.stringify(value) !== JSON.stringify(ours[name]),
  );
  return [
    ...(isManaged ? [refusals.managedInstances] : []),
    ...changed.map(
      ([name]) =>
        `the variable ${name} of ${fn.node.path} was changed; functions with different settings would break each other's leases. Set the prop of that name on LeaseholdJobs instead`,
    ),
  ];
}

export function variablesOf(fn: LambdaFunction): Readonly<Record<string, unknown>> {
  const { defaultChild } = fn.node;
  if (!(defaultChild instanceof CfnFunction)) return {};
  return Stack.of(fn).resolve(defaultChild.environment)?.variables ?? {};
}
