/**
 * The jobs table as both sides see it: the stack creates it from this, the local engines create it from this, and the
 * store reads and writes it. One table, one sparse index, one TTL attribute.
 */

/**
 * Number of past claims that a row remembers, in a ring of attributes `claim00` … `claim19`: a claim goes to its attempt
 * modulo the size, so a new one replaces the oldest.
 */
export const CLAIM_RING_SIZE = 20;
/** Number of operators' acts a row remembers, in a ring of attributes `act0` … `act3`. */
export const ACT_RING_SIZE = 4;

/** The format that rows are written in. Rows of 0.1 say none and are read as they are; newer ones are left alone. */
export const ROW_FORMAT = 2;

/** Job ids cannot contain `:` or `#`, so a producer can never use these keys. */
export const LEADER_KEY = 'leader:reaper';
/**
 * Version 0.1 listed failures by an index that is gone, and counted the reapers' terms in this attribute of their row. Where it is still
 * there, failures may be in no index; `doctor --repair` lists them, and then removes it.
 */
export const OLD_TERM = 'epoch';
export const mayHoldOldFailures = (reapers: Readonly<Record<string, unknown>> | undefined): boolean =>
  reapers?.[OLD_TERM] !== undefined;

export const BAD_MESSAGE_PREFIX = 'bad:';

/** The type of a rejected message's row in the list of failures. */
export const BAD_MESSAGE_TYPE = 'leasehold.bad-message';

export type KeyType = 'S' | 'N';

export interface IndexDefinition {
  readonly name: string;
  readonly partitionKey: { readonly name: string; readonly type: KeyType };
  readonly sortKey: { readonly name: string; readonly type: KeyType };
  /** Attributes copied into the index besides the keys of table and index. */
  readonly projects: readonly string[];
}

/**
 * Sparse by `leaseUntil`. Its `r` and `q` shards hold exactly the running and pending jobs, sorted by the time at which
 * someone must act; its `f` shards hold the failed ones by the time of their failure, for operators to list.
 */
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
    'releases',
    'maxAttempts',
    'maxCrashes',
    'leaseOwner',
    'leaseMs',
    'startedAt',
    'notBefore',
    'cancelRequested',
    'dispatches',
  ],
} as const satisfies IndexDefinition;

export const jobsTable = {
  partitionKey: { name: 'jobId', type: 'S' },
  timeToLiveAttribute: 'expiresAt',
  indexes: [byLease],
} as const;

/** The attribute that remembers how the claim with this attempt number ended. */
export const claimAttribute = (attempt: number): string =>
  `claim${String(attempt % CLAIM_RING_SIZE).padStart(2, '0')}`;

/** The attribute that remembers the operators' act with this number, counted from 0. */
export const actAttribute = (number: number): string => `act${number % ACT_RING_SIZE}`;
