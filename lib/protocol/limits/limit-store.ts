import type { Claim } from '../job.ts';
import type { FencedOutcome } from '../ports.ts';
import type { Row } from '../writes/row-write.ts';
import type { Group, GroupState } from './group.ts';
import type { Admission } from './group-writes.ts';
import type { Parking, SeenPending } from './park-writes.ts';

type AdmitOutcome =
  | { readonly outcome: 'admitted' }
  /** Every place is taken, or a later attempt of the job has one. */
  | { readonly outcome: 'refused' };

/** Reserved places; their jobs need a hint each. */
interface HandedOver {
  readonly outcome: 'left';
  readonly reserved: readonly string[];
}

interface Checked {
  readonly state: GroupState;
  readonly reserved: readonly string[];
}

/** Limits: a place in a group for each running job, and an index of the jobs that wait for one. */
export interface LimitStore {
  /** Groups and rows as they are now, in one request. */
  look(
    groups: readonly string[],
    jobIds: readonly string[],
  ): Promise<{
    readonly groups: ReadonlyMap<string, GroupState>;
    readonly rows: ReadonlyMap<string, Row>;
  }>;
  /** Makes a pending job wait, unless it changed since it was read. */
  park(seen: SeenPending, parking: Parking): Promise<FencedOutcome>;
  /** Ends a claim that was refused admission. */
  parkClaim(claim: Claim, parking: Parking): Promise<FencedOutcome>;
  admit(group: Group, admission: Admission): Promise<AdmitOutcome>;
  /** The oldest waiting jobs, as the index shows them. */
  waiting(group: string, most: number): Promise<readonly string[]>;
  /** Frees a place and reserves it for a waiting job. Without a `limit`, the group's own. */
  leave(
    place: Admission & { readonly group: string; readonly limit?: number },
    waiting?: readonly string[],
  ): Promise<HandedOver>;
  /** Removes entries whose jobs no longer need their place, then reserves all room for waiting jobs. */
  check(group: Group, state: GroupState): Promise<Checked>;
}
