import type { Row } from '../writes/row-write.ts';
import { entryIn, type Group, type GroupState, roomIn } from './group.ts';

export type LookVerdict =
  | { readonly kind: 'claim' }
  /** The row is safe, and its next hint will come. */
  | { readonly kind: 'drop' }
  | { readonly kind: 'park' }
  | { readonly kind: 'leave'; readonly attempt: number };

const CLAIM: LookVerdict = { kind: 'claim' };
const DROP: LookVerdict = { kind: 'drop' };
const PARK: LookVerdict = { kind: 'park' };

/** `isHint` says that the row was read. */
export function decideLook(
  { jobId, isHint, row }: { readonly jobId: string; readonly isHint: boolean; readonly row?: Row },
  group: Group,
  state: GroupState,
  context: {
    readonly now: number;
    readonly skewMs: number;
    /** Places that jobs in the same batch will take. */
    readonly taken: number;
  },
): LookVerdict {
  const entry = entryIn(state.members, jobId);
  const hasRoom = roomIn(state, group.limit) - context.taken > 0;
  if (!isHint) return entry !== undefined || hasRoom ? CLAIM : PARK;
  if (row?.status === 'running') return DROP;
  if (row?.status !== 'pending' || Number(row.notBefore) > context.now + context.skewMs)
    return entry === undefined ? DROP : { kind: 'leave', attempt: Number(row?.attempt ?? entry) };
  // The claim itself ends a job with a cancellation request.
  if (entry !== undefined || hasRoom || row.cancelRequested === true) return CLAIM;
  return row.waitsFor === group.name ? DROP : PARK;
}
