import type { SeededRandom } from './random.ts';

/** A request as rules see it. `nth` counts the requests of its operation from 1, SDK retries included. */
export type SeenRequest = {
  readonly service: 'dynamodb' | 'sqs';
  readonly operation: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly nth: number;
  /** Choices that depend only on the proxy's seed, the operation and `nth`, not on how requests interleave. */
  readonly random: SeededRandom;
};

/** Which members of a batch fail: by position, or each by chance. */
export type BatchPick = readonly number[] | { readonly share: number };

/**
 * What happens to one request. `applied` says whether the engine carries the request out although the client
 * is told otherwise, or nothing at all.
 */
export type Fault =
  | { readonly kind: 'delay'; readonly beforeMs?: number; readonly afterMs?: number }
  | { readonly kind: 'hold'; readonly before?: Promise<unknown>; readonly after?: Promise<unknown> }
  | { readonly kind: 'shiftDate'; readonly byMs: number }
  | { readonly kind: 'reset' }
  | { readonly kind: 'dropReply' }
  | { readonly kind: 'silence'; readonly applied: boolean }
  | { readonly kind: 'throttle'; readonly code?: ThrottleCode }
  | { readonly kind: 'serverError'; readonly status?: number; readonly applied?: boolean }
  | {
      readonly kind: 'failSome';
      readonly which: BatchPick;
      readonly applied: boolean;
      readonly code?: string;
    }
  | { readonly kind: 'staleReply'; readonly byRequests?: number; readonly byMs?: number };

/** How DynamoDB says that it is asked too much; SQS has one way only. */
type ThrottleCode = 'ProvisionedThroughputExceededException' | 'ThrottlingException';

/** Chooses the faults of one request; undefined lets it pass. */
export type FaultRule = (request: SeenRequest) => Fault | readonly Fault[] | undefined;

/** Narrows a rule down. `nth` and `first` count the requests that the rule matches, not all of the operation. */
export type RuleLimits = {
  readonly when?: (request: SeenRequest) => boolean;
  readonly nth?: number;
  readonly first?: number;
  readonly chance?: number;
};

/** The named operations (or '*') meet the fault: `on('UpdateItem', { kind: 'dropReply' }, { nth: 1 })`. */
export function on(operations: string | readonly string[], fault: Fault, limits: RuleLimits = {}): FaultRule {
  const named = new Set(typeof operations === 'string' ? [operations] : operations);
  let matched = 0;
  return (request) => {
    if (!named.has('*') && !named.has(request.operation)) return undefined;
    if (limits.when !== undefined && !limits.when(request)) return undefined;
    matched += 1;
    if (limits.nth !== undefined && matched !== limits.nth) return undefined;
    if (limits.first !== undefined && matched > limits.first) return undefined;
    if (limits.chance !== undefined && !request.random.chance(limits.chance)) return undefined;
    return fault;
  };
}

/** Whether the request reads an index, for rules that make index reads stale. */
export const readsIndex = (request: SeenRequest): boolean =>
  request.operation === 'Query' && typeof request.body.IndexName === 'string';
