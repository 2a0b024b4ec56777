/** Past claims in `claim00` … `claim09`; each replaces the one ten attempts earlier. */
export const CLAIM_RING_SIZE = 10;
/** Operator acts in `act0` … `act3`. */
export const ACT_RING_SIZE = 4;

/** Rows in another format are left alone. */
export const ROW_FORMAT = 1;

/** Job ids cannot contain `:` or `#`, so a producer can never use these keys. */
export const LEADER_KEY = 'leader:reaper';
export const BAD_MESSAGE_PREFIX = 'bad:';

/** The type of rejected messages in the list of failures. */
export const BAD_MESSAGE_TYPE = 'leasehold.bad-message';

export type KeyType = 'S' | 'N';

export interface IndexDefinition {
  readonly name: string;
  readonly partitionKey: { readonly name: string; readonly type: KeyType };
  readonly sortKey: { readonly name: string; readonly type: KeyType };
  /** In addition to the keys of table and index. */
  readonly projects: readonly string[];
}

/** `r` and `q` shards sort running and pending jobs by the time to act, `f` shards failed ones by failure time. */
export const byLease = {
  name: 'byLease',
  partitionKey: { name: 'leaseShard', type: 'S' },
  sortKey: { name: 'leaseUntil', type: 'N' },
  projects: [
    'status',
    'type',
    'attempt',
    'errors',
    'crashes',
    'lapses',
    'releases',
    'maxAttempts',
    'maxCrashes',
    'leaseOwner',
    'leaseMs',
    'startedAt',
    'notBefore',
    'cancelRequested',
    'dispatches',
    'key',
    'group',
    'waitsFor',
  ],
} as const satisfies IndexDefinition;

/** Parked jobs, oldest first; a separate index, so that a burst of parking cannot throttle heartbeats. */
export const byWait = {
  name: 'byWait',
  partitionKey: { name: 'waitsFor', type: 'S' },
  sortKey: { name: 'waitsSince', type: 'N' },
  projects: ['key'],
} as const satisfies IndexDefinition;

export const jobsTable = {
  partitionKey: { name: 'jobId', type: 'S' },
  timeToLiveAttribute: 'expiresAt',
  indexes: [byLease, byWait],
} as const;

export const claimAttribute = (attempt: number): string =>
  `claim${String(attempt % CLAIM_RING_SIZE).padStart(2, '0')}`;

export const actAttribute = (number: number): string => `act${number % ACT_RING_SIZE}`;
