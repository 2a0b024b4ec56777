/** Early by up to this share, to spread heartbeats of jobs claimed together. */
export const HEART_JITTER = 0.2;

/** Before jitter: the setting for the default lease, a third of any other. */
export const beatIntervalMs = (
  leaseMs: number,
  usual: { readonly leaseMs: number; readonly heartbeatMs: number },
): number => (leaseMs === usual.leaseMs ? usual.heartbeatMs : Math.floor(leaseMs / 3));

/** Share of the interval after which an unanswered heartbeat is repeated. */
export const BEAT_REPEATED_AFTER = 0.25;

export const lastBeatAt = (lease: { readonly leaseUntil: number; readonly leaseMs: number }): number =>
  lease.leaseUntil - lease.leaseMs;

/** Two attempts fit into the default heartbeat interval, so a hanging beat fails before the next is due. */
export const STORE_ATTEMPTS = 2;
export const STORE_TIMEOUT_MS = 2000;
