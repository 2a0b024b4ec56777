import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import { type AccessTargets, grantAccess, granteeAccess } from './access.ts';

/** Permissions for those who use a deployment. */
export class LeaseholdGrants {
  readonly #targets: AccessTargets;

  constructor(targets: AccessTargets) {
    this.#targets = targets;
  }

  /** Lets a producer send jobs: `SendMessage` on the queue, and nothing on the table. */
  produce(grantee: IGrantable): Grant {
    return grantAccess(grantee, granteeAccess.produce, this.#targets);
  }

  /** Lets a process of your own run jobs, on a container or a server, besides the worker function or instead of it. */
  work(grantee: IGrantable): Grant {
    return grantAccess(grantee, granteeAccess.work, this.#targets);
  }

  /** Lets a process of your own with an embedded reaper reclaim jobs. */
  reap(grantee: IGrantable): Grant {
    return grantAccess(grantee, granteeAccess.reap, this.#targets);
  }

  /** Lets an operator read jobs, cancel, revive and take them back, and empty the dead-letter queue. */
  operate(grantee: IGrantable): Grant {
    return grantAccess(grantee, granteeAccess.operate, this.#targets);
  }

  /** Allows reading jobs and queues, and changes to nothing. */
  observe(grantee: IGrantable): Grant {
    return grantAccess(grantee, granteeAccess.observe, this.#targets);
  }
}
