import { EventSourceMapping, type EventSourceMappingOptions, type IFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { type Access, type AccessTargets, grantAccess } from './access.ts';

/** Lets a queue start a function, after the function's role may read the queue. */
export function feed(
  scope: Construct,
  id: string,
  { queue, target, access, targets }: Fed,
  options: Omit<EventSourceMappingOptions, 'eventSourceArn'>,
): EventSourceMapping {
  const grant = grantAccess(target, access, targets);
  const source = new EventSourceMapping(scope, id, { target, eventSourceArn: queue.queueArn, ...options });
  grant.applyBefore(source);
  return source;
}

interface Fed {
  readonly queue: IQueue;
  readonly target: IFunction;
  readonly access: Access;
  readonly targets: AccessTargets;
}
