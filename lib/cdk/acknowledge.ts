import * as cdk from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Tells cdk-nag why a finding is taken as it is. Versions of CDK from before it could be told are left in peace. */
export function acknowledge(construct: IConstruct, id: string, reason: string): void {
  const validations: typeof cdk.Validations | undefined = cdk.Validations;
  validations?.of(construct).acknowledge({ id, reason });
}
