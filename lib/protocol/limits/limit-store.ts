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

/** Each reserved job needs a hint. */
interface HandedOver {
  readonly outcome: 'left';
  readonly reserved: readonly string[];
}

interface Checked {
  readonly state: GroupState;
  readonly reserved: readonly string[];
}

export interface LimitStore {
  look(
    groups: readonly string[],
    jobIds: readonly string[],
  ): Promise<{
    readonly groups: ReadonlyMap<string, GroupState>;
    readonly rows: ReadonlyMap<string, Row>;
  }>;
  /** Refused if the job changed since it was read. */
  park(seen: SeenPending, parking: Parking): Promise<FencedOutcome>;
  parkClaim(claim: Claim, parking: Parking): Promise<FencedOutcome>;
  admit(group: Group, admission: Admission): Promise<AdmitOutcome>;
  /** Oldest first, from the index. */
  waiting(group: string, most: number): Promise<readonly string[]>;
  /** Frees a place and reserves it for a waiting job. */
  leave(
    place: Admission & { readonly group: string; readonly limit?: number },
    waiting?: readonly string[],
  ): Promise<HandedOver>;
  /** Removes stale entries, then reserves all room for waiting jobs. */
  check(group: Group, state: GroupState): Promise<Checked>;
}
