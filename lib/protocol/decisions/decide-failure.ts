import type { Settings } from '../../settings/settings.ts';
import type { Budgets, ClaimCounts, FailedEnd, QueuedEnd } from '../job.ts';
import { type Backoff, backoffMs } from './backoff.ts';
import { tooManyReleases } from './decide-crash.ts';
import { type Dispatch, type DispatchSettings, planDispatch } from './dispatch.ts';

type Spent = ClaimCounts & Budgets;

export type FailureVerdict =
  | { readonly kind: 'retry'; readonly errors: number; readonly dispatch: Dispatch }
  | { readonly kind: 'fail'; readonly errors: number };

export function decideFailure(
  job: Spent,
  context: {
    readonly now: number;
    readonly random: number;
    readonly retryable: boolean;
    readonly backoff: Backoff;
    readonly waitMs?: number;
    readonly settings: DispatchSettings;
  },
): FailureVerdict {
  const errors = job.errors + 1;
  if (!context.retryable || errors + job.crashes >= job.maxAttempts) return { kind: 'fail', errors };
  const wait = context.waitMs ?? backoffMs(errors, context.backoff, context.random);
  return { kind: 'retry', errors, dispatch: planDispatch(context.now, context.now + wait, context.settings) };
}

export type ReleaseVerdict =
  | ({ readonly kind: 'release' } & QueuedEnd)
  | ({ readonly kind: 'fail' } & FailedEnd);

const NO_PROGRESS = 'ran out of invocation time without storing a new checkpoint';

/** A deadline release without a new checkpoint counts as an error, or the job could be released forever. */
export function decideRelease(
  job: Spent,
  context: {
    readonly now: number;
    readonly reason: 'deadline' | 'shutdown';
    readonly progressed: boolean;
    readonly settings: DispatchSettings & Pick<Settings, 'maxReleases'>;
  },
): ReleaseVerdict {
  const charged = context.reason === 'deadline' && !context.progressed;
  const errors = job.errors + (charged ? 1 : 0);
  const releases = job.releases + (charged ? 0 : 1);
  if (charged && errors + job.crashes >= job.maxAttempts)
    return { kind: 'fail', errors, lastError: NO_PROGRESS };
  if (releases > context.settings.maxReleases)
    return { kind: 'fail', errors, lastError: tooManyReleases(releases) };
  return {
    kind: 'release',
    errors,
    releases,
    lastError: charged ? NO_PROGRESS : undefined,
    dispatch: planDispatch(context.now, context.now, context.settings),
  };
}
