import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import { type AccessTargets, grantAccess, granteeAccess } from './access.ts';

/** Permissions for the users of a deployment. */
export class LeaseholdGrants {
  readonly #targets: AccessTargets;

  /** @internal */
  constructor(targets: AccessTargets) {
    this.#targets = targets;
  }

  /** Lets a producer send jobs, without access to the table. */
  produce(grantee: IGrantable): Grant {
    return grantAccess(grantee, granteeAccess.produce, this.#targets);
  }

  /** Lets your own process run jobs. */
  work(grantee: IGrantable): Grant {
    return grantAccess(grantee, granteeAccess.work, this.#targets);
  }

  /** Lets your own process reclaim jobs: `leasehold work --reaper`. */
  reap(grantee: IGrantable): Grant {
    return grantAccess(grantee, granteeAccess.reap, this.#targets);
  }

  /** Lets an operator run every CLI command. */
  operate(grantee: IGrantable): Grant {
    return grantAccess(grantee, granteeAccess.operate, this.#targets);
  }

  /** Lets an observer read jobs and queues, and change nothing. */
  observe(grantee: IGrantable): Grant {
    return grantAccess(grantee, granteeAccess.observe, this.#targets);
  }
}
