export type HealthState = 'healthy' | 'degraded' | 'down';

export type HealthCode =
  | 'untaken'
  | 'saturated'
  | 'reaperOff'
  | 'reaperAbsent'
  | 'reaperSilent'
  | 'reaperLate'
  | 'leasesOverdue'
  | 'hintsOverdue'
  | 'failureRate'
  | 'lostWorkers'
  | 'throttled'
  | 'concurrency'
  | 'deadLetters'
  | 'paused'
  | 'poolAbsent'
  | 'typePaused';

export interface HealthReason {
  readonly code: HealthCode;
  readonly state: Exclude<HealthState, 'healthy'>;
  /** Lower case, without a full stop. */
  readonly message: string;
  readonly next: string;
}

export const reason = (
  code: HealthCode,
  state: HealthReason['state'],
  message: string,
  next: string,
): HealthReason => ({ code, state, message, next });
