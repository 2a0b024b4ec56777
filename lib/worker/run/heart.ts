import type { Claim } from '../../protocol/job.ts';
import { type LeaseGrowth, leaseLength } from '../../settings/lease-length.ts';
import type { Settings } from '../../settings/settings.ts';
import type { LeaseClock } from './lease-clock.ts';

/** Renews leases. One heart serves every job of a process. */
export interface Heart {
  /** Beats for this claim until it is stopped, refused, or past its end. */
  start(patient: Patient): void;
  /** No beat is sent for this claim any more; one that is under way is not listened to. */
  stop(claim: Claim): void;
  /** Resolves when no beat is under way: a Lambda must not be frozen in the middle of one. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

/** A claim to be kept alive. */
export interface Patient extends Vitals {
  readonly claim: Claim;
  readonly lease: Pick<LeaseClock, 'ask' | 'renew' | 'refuse' | 'isHeld' | 'hasEnded' | 'sinceRenewalMs'>;
  readonly onReport: (report: HeartReport) => void;
}

/** What decides how often a claim's lease is renewed. */
export interface Vitals {
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly growth: LeaseGrowth;
  /** Monotonic time of the claim. */
  readonly startedAt: number;
}

export type HeartReport =
  /** A beat was refused: the lease is somebody else's. */
  { readonly kind: 'refused' } | { readonly kind: 'cancelRequested' };

/** How long a lease granted now is, and after how long it is renewed, before jitter. */
export function rhythmOf(vitals: Vitals, ageMs: number): { leaseMs: number; intervalMs: number } {
  const leaseMs = leaseLength(vitals.leaseMs, ageMs, vitals.growth);
  const third = leaseMs / 3;
  return { leaseMs, intervalMs: leaseMs > vitals.leaseMs ? third : Math.min(vitals.heartbeatMs, third) };
}

export const growthOf = (settings: Settings): LeaseGrowth => ({
  leaseGrowth: settings.leaseGrowth,
  leaseGrowthCapMs: settings.leaseGrowthCapMs,
});
