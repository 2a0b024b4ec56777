import type { Settings } from '../../settings/settings.ts';
import { LEASE_EXPIRED, type LeaseEntry } from '../job.ts';
import { decideCrash } from './decide-crash.ts';
import { type Dispatch, type DispatchSettings, planDispatch, planRedispatch } from './dispatch.ts';

/** What is to become of one entry of the lease index. */
export type ReapVerdict =
  /** The lease is live until `lapsesAt`: nobody but its holder may act. */
  | { readonly kind: 'leave'; readonly lapsesAt: number }
  | LapseVerdict
  | { readonly kind: 'redispatch'; readonly dispatch: Dispatch }
  | { readonly kind: 'cancel' };

/** Why the lapses of a sweep are nobody's fault, as it is told on the claim. */
export type Excuse = 'many leases lapsed together' | 'the reaper was late';

/** What becomes of a job whose worker stopped renewing its lease. */
type LapseVerdict =
  | {
      readonly kind: 'reclaim';
      /** What the lapse is charged to: releases where it is excused, else crashes. */
      readonly chargedTo: 'crashes' | 'releases';
      readonly crashes: number;
      readonly releases: number;
      readonly lastError: string;
      readonly dispatch: Dispatch;
      readonly excuse?: Excuse;
      /** Of an excused lapse: the verdict on a job that has been excused as often as is allowed. */
      readonly otherwise?: LapseVerdict;
    }
  | {
      readonly kind: 'fail';
      /** The job kept killing its workers, as opposed to having spent its attempts on errors as well. */
      readonly quarantined: boolean;
      readonly crashes: number;
      readonly releases: number;
      readonly lastError: string;
    };

/** So often in a row, without progress or another ending in between, a lapse is nobody's fault. */
export const MOST_EXCUSES = 2;

export type ReapSettings = DispatchSettings & Pick<Settings, 'skewMs' | 'graceMs' | 'maxReleases'>;

/**
 * The moment from which the reaper may act on an entry. A worker's lease gets the allowed clock skew and the grace on
 * top; the queue's lease needs neither, because a claim that comes a little early is accepted.
 */
export const lapsesAt = (
  entry: Pick<LeaseEntry, 'status' | 'leaseUntil'>,
  settings: Pick<Settings, 'skewMs' | 'graceMs'>,
): number => entry.leaseUntil + (entry.status === 'running' ? settings.skewMs + settings.graceMs : 0);

/** Decides from the index entry alone. Pure: the write that follows checks that the entry still tells the truth. */
export function decideReap(
  entry: LeaseEntry,
  context: {
    readonly now: number;
    readonly settings: ReapSettings;
    /** Why none of the jobs can be the reason. */
    readonly excuse?: Excuse;
  },
): ReapVerdict {
  const { now, settings, excuse } = context;
  const due = lapsesAt(entry, settings);
  if (now < due) return { kind: 'leave', lapsesAt: due };
  if (entry.cancelRequested) return { kind: 'cancel' };
  if (entry.status === 'pending')
    return { kind: 'redispatch', dispatch: planRedispatch(now, entry, settings) };
  const charged = decideLapse(entry, 'crashes', now, settings);
  if (excuse === undefined) return charged;
  const spared = decideLapse(entry, 'releases', now, settings);
  return spared.kind === 'reclaim' ? { ...spared, excuse, otherwise: charged } : spared;
}

function decideLapse(
  entry: LeaseEntry,
  chargedTo: 'crashes' | 'releases',
  now: number,
  settings: ReapSettings,
): LapseVerdict {
  const { reason, ...verdict } = { reason: undefined, ...decideCrash(entry, { chargedTo, settings }) };
  const { crashes, releases } = verdict;
  if (verdict.kind === 'fail') return { ...verdict, lastError: reason ?? LEASE_EXPIRED };
  return {
    kind: 'reclaim',
    chargedTo,
    crashes,
    releases,
    lastError: LEASE_EXPIRED,
    dispatch: planDispatch(now, now, settings),
  };
}
