import * as cdk from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Older CDK versions lack this API of cdk-nag. */
export function acknowledge(construct: IConstruct, id: string, reason: string): void {
  const validations: typeof cdk.Validations | undefined = cdk.Validations;
  validations?.of(construct).acknowledge({ id, reason });
}

const COMPLIANCE = {
  IAMNoInlinePolicy: 'Each policy names resources of this system for one role, and is deleted with it.',
  LambdaConcurrency:
    "The event source limits the worker, and the other functions have little to do. Reserving is the user's choice: an account with a limit below 110 cannot.",
  LambdaDLQ:
    'Queues feed the functions and keep what fails; a tick of the reaper that fails is repeated by the next.',
};

export function acknowledgeCompliance(jobs: IConstruct): void {
  for (const pack of ['HIPAA.Security', 'NIST.800.53.R5'])
    for (const [rule, reason] of Object.entries(COMPLIANCE)) acknowledge(jobs, `${pack}-${rule}`, reason);
}
