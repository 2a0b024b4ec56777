import type { Claim } from '../../protocol/job.ts';
import { type LeaseGrowth, leaseLength } from '../../settings/lease-length.ts';
import type { Settings } from '../../settings/settings.ts';
import type { TimeoutKind } from '../abort-reasons.ts';
import type { LeaseClock } from './lease-clock.ts';

/** Renews leases. One heart serves every job of a process. */
export interface Heart {
  /**
   * Beats for this claim until it is stopped, or until the claim must not be kept alive any longer. Resolves when that no
   * longer depends on the caller's thread: a handler may keep it busy from its first moment on.
   */
  start(patient: Patient): Promise<void> | void;
  /** No beat is sent for this claim any more; one that is under way is not listened to. */
  stop(claim: Claim): void;
  /** Resolves when beats can be sent. A claim may start earlier: its first beat is then sent as soon as it can be. */
  ready(): Promise<void>;
  /** Resolves when no beat is under way: a Lambda must not be frozen in the middle of one. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

/** A claim to be kept alive. */
export interface Patient extends Vitals {
  readonly claim: Claim;
  readonly lease: LeaseClock;
  readonly onReport: (report: HeartReport) => void;
}

/** What decides how often a claim's lease is renewed, and when no more; plain data that can go to another thread. */
export interface Vitals {
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly growth: LeaseGrowth;
  readonly maxRunMs: number;
  readonly progressTimeoutMs: number;
  readonly maxStallMs: number;
  /** Monotonic time of the claim. */
  readonly startedAt: number;
}

export type HeartReport =
  /** A beat was refused: the lease is somebody else's. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'cancelRequested' }
  /** The heart gave the claim up on purpose. */
  | { readonly kind: 'stopped'; readonly why: TimeoutKind };

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

/** The limit that a claim has overstepped, if any: a heart must not outlive the work. */
export function overstepped(
  vitals: Pick<Vitals, 'maxRunMs' | 'progressTimeoutMs' | 'maxStallMs'>,
  seen: { readonly ageMs: number; readonly silentForMs: number; readonly stalledForMs: number },
): TimeoutKind | undefined {
  if (seen.stalledForMs > vitals.maxStallMs) return 'stalled';
  if (seen.ageMs > vitals.maxRunMs) return 'overrun';
  if (vitals.progressTimeoutMs > 0 && seen.silentForMs > vitals.progressTimeoutMs) return 'silent';
  return undefined;
}
